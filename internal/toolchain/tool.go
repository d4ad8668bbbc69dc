package toolchain

import (
	"fmt"
	"path/filepath"
)

// Kind tells what a tool is run by.
type Kind string

// The kinds of tools.
const (
	CLI    Kind = "cli"
	Plugin Kind = "plugin"
	// LanguageHost is what a plain pulumi runs the program with. em-infra runs its program itself and needs none, so it is got
	// where it is asked for only.
	LanguageHost Kind = "language"
	// Lab is a program that the lab runs, and nothing else: it is got for rehearsals only.
	Lab Kind = "lab"
)

// Origin says whose a tool is.
type Origin string

// Where tools come from.
const (
	// Official is what its publisher built: the pulumi or the language host on PATH, or a plugin that pulumi installed.
	Official Origin = "official"
	// Built is the publisher's code, built here from a Go module.
	Built Origin = "built"
	// StandIn is test equipment of this project in the place of a plugin that cannot be had.
	StandIn Origin = "stand-in"
)

// Tool is the CLI, a plugin, or a program of the lab.
type Tool struct {
	Name    string `json:"name"`    // pulumi, NAME of pulumi-resource-NAME, NAME of pulumi-NAME, or the name of the program
	Kind    Kind   `json:"kind"`    // cli, plugin, language or lab
	Version string `json:"version"` // with the v, as Pulumi names folders
	// Origin is what stands in the cache or on PATH; when nothing does, what a build would make.
	Origin Origin `json:"origin"`
	// From is the Go module with version that the code is from. Empty unless the origin is Built.
	From string `json:"from,omitempty"`
	// Path is the executable. Empty when the tool is not installed.
	Path string `json:"path,omitempty"`
	// Installed says that it is there.
	Installed bool `json:"installed"`
	// Reason is why a tool is not the official one, as far as that was tried.
	Reason string `json:"reason,omitempty"`

	files []file // all that belongs to it, relative to dir
	dir   string
}

// Installed are the tools of a program, all there.
type Installed struct {
	Tools []Tool // in the order of the catalogue, the CLI first
}

// newInstalled checks what only matters once: a program that asks for one tool alone has no CLI.
func newInstalled(tools []Tool) (*Installed, error) {
	for _, tool := range tools {
		if !tool.Installed {
			return nil, fmt.Errorf("%s %s is not installed", tool.Name, tool.Version)
		}
	}
	return &Installed{Tools: tools}, nil
}

// CLI returns the Pulumi CLI; ok is false when Options.Names left it out.
func (i *Installed) CLI() (tool Tool, ok bool) {
	for _, tool := range i.Tools {
		if tool.Kind == CLI {
			return tool, true
		}
	}
	return Tool{}, false
}

// Root returns what the Automation API takes as PulumiCommandOptions.Root for this CLI: it looks for Root/bin/pulumi
// (auto/cmd.go of the SDK). It is empty for a CLI in a folder of another name, which the API finds on PATH.
func (t Tool) Root() string {
	if t.Kind != CLI || filepath.Base(filepath.Dir(t.Path)) != "bin" {
		return ""
	}
	return filepath.Dir(filepath.Dir(t.Path))
}
