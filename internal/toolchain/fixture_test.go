package toolchain_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/executabletest"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// files are a small checkout: the same modules, packages and versions, and main packages that print their version.
var files = map[string]string{
	"go.mod": `module github.com/em-infra/em-infra

go 1.26

require (
	github.com/muhlba91/pulumi-proxmoxve/sdk/v6 v6.18.1
	github.com/pulumi/pulumi-command/sdk v1.2.1
	github.com/pulumi/pulumi-kubernetes/sdk/v4 v4.30.0
	github.com/pulumi/pulumi/sdk/v3 v3.254.0
	github.com/pulumiverse/pulumi-talos/sdk v0.7.1
)
`,
	"tools/cli/go.mod": `module github.com/em-infra/em-infra/tools/cli

go 1.26

require github.com/pulumi/pulumi/pkg/v3 v3.254.0

replace github.com/pulumi/pulumi/pkg/v3 => ./pkg
`,
	"tools/cli/go.sum":              "",
	"tools/cli/pkg/go.mod":          "module github.com/pulumi/pulumi/pkg/v3\n\ngo 1.26\n",
	"tools/cli/pkg/cmd/pulumi/x.go": sayVersion,
	"tools/go.mod": `module github.com/em-infra/em-infra/tools

go 1.26

require (
	github.com/bpg/terraform-provider-proxmox v0.73.0
	github.com/siderolabs/terraform-provider-talos v0.8.0
)

replace (
	github.com/bpg/terraform-provider-proxmox => ./proxmox
	github.com/siderolabs/terraform-provider-talos => ./talos
)
`,
	"tools/go.sum":                             "",
	"tools/proxmox/go.mod":                     "module github.com/bpg/terraform-provider-proxmox\n",
	"tools/talos/go.mod":                       "module github.com/siderolabs/terraform-provider-talos\n",
	"tools/bridge/packageschema/x.go":          "package packageschema\n",
	"tools/bridge/proxmoxve/plugin/main.go":    sayVersion,
	"tools/bridge/talos/plugin/main.go":        sayVersion,
	"tools/standin/command/plugin/main.go":     sayVersion,
	"tools/standin/kubernetes/go.mod":          "module github.com/em-infra/em-infra/tools/standin/kubernetes\n\ngo 1.26\n",
	"tools/standin/kubernetes/go.sum":          "",
	"tools/standin/kubernetes/plugin/main.go":  sayVersion,
	"tools/standin/kubernetes/cluster/x.go":    "package cluster\n",
	"tools/standin/kubernetes/difference/x.go": "package difference\n",
	"tools/standin/kubernetes/object/x.go":     "package object\n",
	"tools/standin/kubernetes/operation/x.go":  "package operation\n",
	"tools/standin/kubernetes/properties/x.go": "package properties\n",
	"tools/standin/kubernetes/provider/x.go":   "package provider\n",
	"tools/standin/kubernetes/release/x.go":    "package release\n",
	"tools/standin/language/go.mod":            "module github.com/em-infra/em-infra/tools/standin/language\n\ngo 1.26\n",
	"tools/standin/language/go.sum":            "",
	"tools/standin/language/plugin/main.go":    sayVersion,
	"tools/standin/language/host/x.go":         "package host\n",
	"tools/controlplane/go.mod": `module github.com/em-infra/em-infra/tools/controlplane

go 1.26

require k8s.io/kubernetes v1.35.4

replace k8s.io/kubernetes => ./kubernetes
`,
	"tools/controlplane/go.sum":            "",
	"tools/controlplane/main.go":           sayVersion,
	"tools/controlplane/kubernetes/go.mod": "module k8s.io/kubernetes\n",
	"tools/controlplane/kubernetes-1.36.mod": `module github.com/em-infra/em-infra/tools/controlplane

go 1.26

require k8s.io/kubernetes v1.36.2

replace k8s.io/kubernetes => ./kubernetes
`,
	"tools/controlplane/kubernetes-1.36.sum": "",
	"tools/kwok/go.mod": `module github.com/em-infra/em-infra/tools/kwok

go 1.26

require sigs.k8s.io/kwok v0.8.0

replace sigs.k8s.io/kwok => ./kwok
`,
	"tools/kwok/go.sum":      "",
	"tools/kwok/main.go":     sayVersion,
	"tools/kwok/stages.go":   "package main\n",
	"tools/kwok/stages.yaml": "",
	"tools/kwok/kwok/go.mod": "module sigs.k8s.io/kwok\n",
}

const sayVersion = "package main\n\nvar version = \"unset\"\n\nfunc main() { println(version) }\n"

// checkout writes the files and returns options for them: a cache of its own, no pulumi, no network.
func checkout(t *testing.T) toolchain.Options {
	t.Helper()
	source := filepath.Join(t.TempDir(), "checkout")
	for name, text := range files {
		write(t, filepath.Join(source, name), text)
	}
	return toolchain.Options{Source: source, CacheDir: filepath.Join(t.TempDir(), "cache")}.With(offline())
}

// offline returns a machine that has Go and an empty disk, but no other tools and no network.
func offline() toolchain.Seams {
	return toolchain.Seams{
		LookPath: func(name string) (string, error) {
			if name == "go" {
				return exec.LookPath(name)
			}
			return "", exec.ErrNotFound
		},
		Environ:   func() []string { return append(os.Environ(), "GOPROXY=off") },
		FreeSpace: func(string) (int64, error) { return 1 << 40, nil },
		Probe:     func(context.Context, string) error { return errors.New("no network here") },
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// script writes an executable and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bin", "script")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	executabletest.Script(t, path, text)
	return path
}

// found returns a LookPath that finds only the names in paths.
func found(paths map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		if path, ok := paths[name]; ok {
			return path, nil
		}
		return "", exec.ErrNotFound
	}
}

func install(t *testing.T, opts toolchain.Options) *toolchain.Installed {
	t.Helper()
	installed, err := toolchain.Install(t.Context(), opts)
	require.NoError(t, err)
	return installed
}

func tool(t *testing.T, installed *toolchain.Installed, name string) toolchain.Tool {
	t.Helper()
	for _, tool := range installed.Tools {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return toolchain.Tool{}
}

// modTime returns the time of a file. Each build has another one.
func modTime(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.ModTime().UnixNano()
}

// log is a progress that another goroutine may read at the same time.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// lines returns the lines of the log without the column at the start and the times at the end.
func (l *log) lines() []string {
	var lines []string
	for line := range strings.Lines(l.String()) {
		line = strings.TrimSpace(strings.TrimPrefix(line, " tools      "))
		line, _, _ = strings.Cut(line, ")  ")
		lines = append(lines, line)
	}
	return lines
}
