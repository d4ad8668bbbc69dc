package command

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// Tools installs the programs that every lab runs, and finds the other control planes that were built. The first call takes minutes,
// later ones return at once.
func Tools(ctx context.Context, progress io.Writer) (kubernetes.Tools, error) {
	installed, err := toolchain.Install(ctx, toolchain.Options{Names: []string{"controlplane", "kwok"}, Progress: progress})
	if err != nil {
		return kubernetes.Tools{}, err
	}
	own, kwok := installed.Tools[0], installed.Tools[1]
	tools := kubernetes.Tools{ControlPlanes: []kubernetes.ControlPlane{{Version: own.Version, Path: own.Path}}, Kwok: kwok.Path}
	others, err := toolchain.List(ctx, toolchain.Options{Names: toolchain.OnRequest()})
	if err != nil {
		return kubernetes.Tools{}, err
	}
	for _, other := range others {
		if other.Installed {
			tools.ControlPlanes = append(tools.ControlPlanes, kubernetes.ControlPlane{Version: other.Version, Path: other.Path})
		}
	}
	return tools, nil
}

// ToolFlags are the hidden flags that pass the programs to the process of a lab.
type ToolFlags struct {
	controlPlanes []string
	kwok          string
}

// Bind adds the flags.
func (f *ToolFlags) Bind(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.controlPlanes, "controlplane", nil, "release and executable of a Kubernetes control plane, `VERSION=FILE`; may be repeated (default: none, and no Kubernetes)")
	c.Flags().StringVar(&f.kwok, "kwok", "", "executable of KWOK, with --controlplane")
	for _, name := range []string{"controlplane", "kwok"} {
		c.Flags().Lookup(name).Hidden = true
	}
	c.MarkFlagsRequiredTogether("controlplane", "kwok")
}

// Tools returns the programs; nil without the flags.
func (f *ToolFlags) Tools() (*kubernetes.Tools, error) {
	if len(f.controlPlanes) == 0 {
		return nil, nil
	}
	tools := &kubernetes.Tools{Kwok: f.kwok}
	for _, text := range f.controlPlanes {
		version, path, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("--controlplane: %q names no release: write VERSION=FILE", text)
		}
		tools.ControlPlanes = append(tools.ControlPlanes, kubernetes.ControlPlane{Version: version, Path: path})
	}
	return tools, nil
}

// ToolArgs returns the flags of these programs for another process.
func ToolArgs(tools kubernetes.Tools) []string {
	args := []string{"--kwok", tools.Kwok}
	for _, c := range tools.ControlPlanes {
		args = append(args, "--controlplane", c.Version+"="+c.Path)
	}
	return args
}
