package toolchain

import (
	"fmt"
	"path/filepath"
)

// Kind is the kind of a tool.
type Kind string

// The kinds of tools.
const (
	CLI    Kind = "cli"
	Plugin Kind = "plugin"
	// LanguageHost runs the program under a plain pulumi. It is installed only on request, since em-infra runs its program itself.
	LanguageHost Kind = "language"
	// Lab is a program that only the lab runs. It is installed for rehearsals only.
	Lab Kind = "lab"
	// Client is a program that people use beside em-infra. Em-infra never installs it.
	Client Kind = "client"
)

// Origin is the origin of a tool.
type Origin string

// The origins of tools.
const (
	// Official is the publisher's own build: the pulumi or language host on PATH, or a plugin that pulumi installed.
	Official Origin = "official"
	// Built is the publisher's code, built on this machine from a Go module.
	Built Origin = "built"
	// StandIn is this project's own test equipment in place of an unavailable plugin.
	StandIn Origin = "stand-in"
)

// Tool is the CLI, a plugin, the language host, a program of the lab, or a client.
type Tool struct {
	Name    string `json:"name"`    // pulumi, NAME of pulumi-resource-NAME, NAME of pulumi-NAME, or the name of the program
	Kind    Kind   `json:"kind"`    // cli, plugin, language, lab or client
	Version string `json:"version"` // with the v, as Pulumi names folders; of a client the version that fits
	// Origin is the origin of the installed tool. If the tool is not installed, it is the origin that a build would have.
	Origin Origin `json:"origin"`
	// From is the Go module of the code, with its version. Empty unless the origin is Built.
	From string `json:"from,omitempty"`
	// Path is the executable. Empty when the tool is not installed.
	Path string `json:"path,omitempty"`
	// Installed is true if the tool is installed.
	Installed bool `json:"installed"`
	// Reason is why the official tool could not be installed. Empty if that was not tried.
	Reason string `json:"reason,omitempty"`

	files []file // all files of the tool, relative to dir
	dir   string
}

// Installed are the installed tools of a program.
type Installed struct {
	Tools []Tool // in the order of the catalogue, the CLI first
}

// newInstalled returns an error if a tool is missing. There is no CLI if Options.Names does not include it.
func newInstalled(tools []Tool) (*Installed, error) {
	for _, tool := range tools {
		if !tool.Installed {
			return nil, fmt.Errorf("%s %s is not installed", tool.Name, tool.Version)
		}
	}
	return &Installed{Tools: tools}, nil
}

// CLI returns the Pulumi CLI; ok is false if Options.Names does not include it.
func (i *Installed) CLI() (tool Tool, ok bool) {
	for _, tool := range i.Tools {
		if tool.Kind == CLI {
			return tool, true
		}
	}
	return Tool{}, false
}

// Root returns PulumiCommandOptions.Root of the Automation API for this CLI. The API runs Root/bin/pulumi (auto/cmd.go of the SDK).
// Root is empty if the CLI is in a folder of another name; then the API finds it on PATH.
func (t Tool) Root() string {
	if t.Kind != CLI || filepath.Base(filepath.Dir(t.Path)) != "bin" {
		return ""
	}
	return filepath.Dir(filepath.Dir(t.Path))
}
