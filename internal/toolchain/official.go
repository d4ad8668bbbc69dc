package toolchain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits on the tries for what is official, so that a machine without internet waits for seconds.
const (
	probeTimeout   = 5 * time.Second
	versionTimeout = 15 * time.Second
	installTimeout = 3 * time.Minute
)

// cliOnPath returns the pulumi on PATH if its version fits. Asking it takes longer than all else that a call does, so
// its answer is kept for as long as the file is the same.
func (in *installer) cliOnPath(ctx context.Context, w *wanted) (Tool, bool) {
	path, err := in.seams.lookPath(w.name)
	if err != nil {
		return Tool{}, false
	}
	version, err := in.versionOf(ctx, path)
	if err != nil || !fits(version, in.sdk) {
		return Tool{}, false
	}
	return Tool{
		Name: w.name, Kind: CLI, Version: version, Origin: Official, Path: path, Installed: true,
	}, true
}

// answered is what a CLI said of its version.
type answered struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Version string    `json:"version"`
}

func (in *installer) versionOf(ctx context.Context, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	memo := filepath.Join(in.cache, "pulumi-on-path.json")
	var last answered
	if text, err := os.ReadFile(memo); err == nil && json.Unmarshal(text, &last) == nil &&
		last.Path == path && last.Size == info.Size() && last.ModTime.Equal(info.ModTime()) {
		return last.Version, nil
	}

	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := group(exec.CommandContext(ctx, path, "version"))
	cmd.Env = append(in.seams.environ(), "PULUMI_SKIP_UPDATE_CHECK=true")
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	now := answered{Path: path, Size: info.Size(), ModTime: info.ModTime(), Version: strings.TrimSpace(string(out))}
	in.remember(memo, now)
	return now.Version, nil
}

// remember keeps an answer. Where that cannot be done the next call asks again, which costs time and nothing else.
func (in *installer) remember(memo string, now answered) {
	text, err := json.Marshal(now)
	if err == nil && os.MkdirAll(in.cache, 0o755) == nil {
		_ = os.WriteFile(memo, text, 0o600)
	}
}

// reachable returns the plugins whose official server answers, and notes for the others that it does not.
func (in *installer) reachable(ctx context.Context, missing []*wanted) []*wanted {
	plugins := only(missing, Plugin)
	var hosts []string
	for _, w := range plugins {
		hosts = append(hosts, w.host())
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)

	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	problems := make([]error, len(hosts))
	var probes sync.WaitGroup
	for i, host := range hosts {
		probes.Go(func() { problems[i] = in.seams.probe(ctx, host) })
	}
	probes.Wait()

	var lost []string
	for i, host := range hosts {
		if problems[i] != nil {
			lost = append(lost, fmt.Sprintf("%s (%v)", host, problems[i]))
		}
	}
	if len(lost) > 0 {
		in.progress.line("official plugins cannot be had from %s", strings.Join(lost, ", "))
	}
	return slices.DeleteFunc(plugins, func(w *wanted) bool {
		at, _ := slices.BinarySearch(hosts, w.host())
		if problems[at] != nil {
			w.reason = fmt.Sprintf("%s cannot be reached: %v", w.host(), problems[at])
		}
		return problems[at] != nil
	})
}

// host is the server of the official plugin. Without one of its own a plugin comes from Pulumi's (getSource in
// workspace/plugins.go of the SDK).
func (s spec) host() string {
	if server, err := url.Parse(s.server); err == nil && server.Host != "" {
		return server.Host
	}
	return "get.pulumi.com"
}

// probe asks a host for any answer at all, through the proxy that the environment names.
func probe(ctx context.Context, host string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			return failed.Err // without the method and address, which say nothing new
		}
		return err
	}
	return response.Body.Close()
}

// installOfficial has pulumi install the plugins. One that it cannot install is noted and left to be built.
func (in *installer) installOfficial(ctx context.Context, plugins []*wanted) error {
	cli, ok := in.cliForInstalls(ctx)
	for i, w := range plugins {
		if !ok {
			w.reason = "there is no pulumi to install it with"
			continue
		}
		err := in.installOne(ctx, cli, w, fmt.Sprintf("(%d of %d)", i+1, len(plugins)))
		if ctx.Err() != nil {
			return fmt.Errorf("install %s: %w", w.name, context.Cause(ctx))
		}
		if err != nil {
			w.reason = err.Error()
			in.progress.line("the official %s %s cannot be had: %v", w.name, w.version, err)
		}
	}
	return nil
}

func (in *installer) cliForInstalls(ctx context.Context) (string, bool) {
	for i := range in.wanted {
		if w := &in.wanted[i]; w.kind == CLI {
			tool := in.present(ctx, w)
			return tool.Path, tool.Installed
		}
	}
	return "", false
}

func (in *installer) installOne(ctx context.Context, cli string, w *wanted, count string) error {
	return in.exclusively(ctx, w, w.officialKey(), func(partial, dir string) error {
		step := in.progress.step(fmt.Sprintf("installing %s %s %s", w.name, w.version, count))
		if err := in.pluginInstall(ctx, cli, w, partial); err != nil {
			step.fail()
			return err
		}
		if err := seal(partial, dir, w.executable(), manifest{Origin: Official}); err != nil {
			step.fail()
			return err
		}
		step.done(fmt.Sprintf("%s %s: installed %s", w.name, w.version, count))
		return nil
	})
}

// pluginInstall has pulumi install a plugin into a home of its own, and moves it to partial/bin.
func (in *installer) pluginInstall(ctx context.Context, cli string, w *wanted, partial string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, installTimeout,
		fmt.Errorf("pulumi plugin install took longer than %s", installTimeout))
	defer cancel()
	home := filepath.Join(partial, "home")
	args := []string{"plugin", "install", "resource", w.name, w.version, "--non-interactive"}
	if w.server != "" {
		args = append(args, "--server", w.server)
	}
	cmd := group(exec.CommandContext(ctx, cli, args...))
	cmd.Env = append(in.seams.environ(), "PULUMI_HOME="+home, "PULUMI_SKIP_UPDATE_CHECK=true")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("pulumi plugin install: %w: %s", err, lines[len(lines)-1])
	}
	bin := filepath.Join(partial, "bin")
	if err := os.Remove(bin); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(home, "plugins", "resource-"+w.name+"-"+w.version), bin); err != nil {
		return err
	}
	return os.RemoveAll(home)
}
