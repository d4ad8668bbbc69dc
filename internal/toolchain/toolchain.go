// Package toolchain installs the tools of a Pulumi program: the Pulumi CLI and the provider plugins, each in the version that the
// program's Go SDKs need.
//
// The CLI on PATH is used if its version fits. The official plugins are installed if their servers are reachable. The other tools
// are built from Go modules: the CLI, proxmoxve and talos from the publishers' code; command, kubernetes and the language host from
// our own stand-ins (see the catalogue). A cache keeps all tools, with one entry per tool, version and sources.
// [Installed.Populate] puts them into the PULUMI_HOME of a run.
package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Options are the options of Install and List. The zero value is right for an ordinary run.
type Options struct {
	// Source is the root of an em-infra checkout. Default: the checkout of the working directory. If there is none, and the program
	// embeds em-infra: the module's folder according to the go command. Otherwise none; then nothing is built, and the tools are
	// official or builds that the cache already contains.
	Source string
	// CacheDir is the folder of the cache. Default: DefaultCacheDir(Source).
	CacheDir string
	// Progress gets one line per step, or on a terminal one line that is rewritten. It gets nothing if all tools are in the cache.
	// Default: none.
	Progress io.Writer
	// Retry tries again to install official plugins for which the cache has builds.
	Retry bool
	// Names are the tools to get, as in Tool.Name. Default: all except those of OnRequest. Kind Lab is included only with
	// Rehearsal, and kind LanguageHost only with LanguageHost.
	Names []string
	// Rehearsal includes the tools of the lab.
	Rehearsal bool
	// LanguageHost includes the language host for a plain pulumi.
	LanguageHost bool

	seams seams
}

// Install returns the tools. It installs or builds those that are missing or damaged in the cache. Errors are ErrNoSource, ErrNoGo,
// ErrNoBuild, ErrNoSpace, a BuildError, or the context's.
func Install(ctx context.Context, opts Options) (*Installed, error) {
	in, err := newInstaller(ctx, opts)
	if err != nil {
		return nil, err
	}
	tools := make([]Tool, len(in.wanted))
	var missing []*wanted
	for i := range in.wanted {
		tools[i] = in.present(ctx, &in.wanted[i])
		if !tools[i].Installed || in.retries(tools[i]) {
			missing = append(missing, &in.wanted[i])
		}
	}
	if len(missing) == 0 {
		return newInstalled(tools)
	}

	if err := in.get(ctx, missing); err != nil {
		return nil, err
	}
	for i := range in.wanted {
		tools[i] = in.present(ctx, &in.wanted[i])
		if !tools[i].Installed {
			return nil, fmt.Errorf("%s %s was installed, but its files are incomplete: check that the disk of %s keeps written files",
				tools[i].Name, tools[i].Version, in.cache)
		}
	}
	return newInstalled(tools)
}

// List returns the tools in their current state. It installs and builds nothing, and does not wait.
func List(ctx context.Context, opts Options) ([]Tool, error) {
	in, err := newInstaller(ctx, opts)
	if err != nil {
		return nil, err
	}
	tools := make([]Tool, len(in.wanted))
	for i := range in.wanted {
		tools[i] = in.present(ctx, &in.wanted[i])
	}
	return tools, nil
}

// installer is one call of Install or List: the options with their defaults, and the tools with their versions.
type installer struct {
	source   string // empty without a checkout; then nothing is built
	cache    string
	sdk      string // version of the Pulumi SDK that the CLI must fit
	retry    bool
	wanted   []wanted
	progress *progress
	seams    seams
}

func newInstaller(ctx context.Context, opts Options) (*installer, error) {
	source, err := findSource(ctx, opts.Source)
	if err != nil && (opts.Source != "" || !errors.Is(err, ErrNoSource)) {
		return nil, err
	}
	cache := opts.CacheDir
	if cache == "" {
		cache = DefaultCacheDir(source)
	}
	in := &installer{
		source: source, cache: cache, retry: opts.Retry,
		progress: newProgress(opts.Progress), seams: opts.seams.orReal(),
	}
	versions, err := readVersions(source, in.seams.linked())
	if err != nil {
		return nil, err
	}
	if in.sdk, err = versions.sdk(pulumiSDK); err != nil {
		return nil, err
	}
	specs, err := choose(opts)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		w, err := want(s, source, versions)
		if err != nil {
			return nil, err
		}
		in.wanted = append(in.wanted, w)
	}
	return in, nil
}

// choose returns the requested tools in the order of the catalogue.
func choose(opts Options) ([]spec, error) {
	all := catalogue()
	for _, name := range opts.Names {
		if !slices.ContainsFunc(all, func(s spec) bool { return s.name == name }) {
			return nil, fmt.Errorf("there is no tool %q: choose from those of `em-infra tools list`", name)
		}
	}
	return slices.DeleteFunc(all, func(s spec) bool {
		if len(opts.Names) > 0 {
			return !slices.Contains(opts.Names, s.name)
		}
		return s.onRequest || s.kind == Lab && !opts.Rehearsal || s.kind == LanguageHost && !opts.LanguageHost
	}), nil
}

// retries reports whether to try again to install the official form of a tool that was built.
func (in *installer) retries(tool Tool) bool {
	return in.retry && tool.Kind == Plugin && tool.Origin != Official
}
