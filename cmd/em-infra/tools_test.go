package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

func TestPrintTools(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printTools(&out, []toolchain.Tool{
		{Name: "pulumi", Version: "v3.260.0", Origin: toolchain.Official, Path: "/usr/bin/pulumi", Installed: true},
		{
			Name: "talos", Version: "v0.7.1", Origin: toolchain.Built, From: "example.org/talos v0.8.0",
			Path: "/cache/pulumi-resource-talos", Installed: true, Reason: "example.org cannot be reached: no network",
		},
		{Name: "command", Version: "v1.2.1", Origin: toolchain.StandIn},
	}))
	require.Equal(t, `NAME     VERSION   ORIGIN                        PATH
pulumi   v3.260.0  official                      /usr/bin/pulumi
talos    v0.7.1    built from example.org/talos  /cache/pulumi-resource-talos
                   v0.8.0
command  v1.2.1    stand-in                      not installed
talos is not the official one: example.org cannot be reached: no network
next: em-infra tools install
`, out.String())
}

// TestPrintToolsThatAreBuiltOnRequest: nothing is missing without them.
func TestPrintToolsThatAreBuiltOnRequest(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printTools(&out, []toolchain.Tool{{Name: "controlplane-1.36", Version: "v1.36.2", Origin: toolchain.Built, From: "k8s.io/kubernetes v1.36.2"}}))
	require.Equal(t, `NAME               VERSION  ORIGIN                                PATH
controlplane-1.36  v1.36.2  built from k8s.io/kubernetes v1.36.2  not installed
`, out.String())
}

// TestPrintClients: what em-infra does not need is named when it is missing, and nothing else is to be done.
func TestPrintClients(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, printTools(&out, []toolchain.Tool{
		{Name: "kubectl", Kind: toolchain.Client, Version: "v1.35.4", Path: "/usr/bin/kubectl", Installed: true},
		{Name: "sops", Kind: toolchain.Client, Version: "v3.10.2"},
		{Name: "age", Kind: toolchain.Client, Version: "v1.2.1"},
	}))
	require.Equal(t, `NAME     VERSION  ORIGIN  PATH
kubectl  v1.35.4  yours   /usr/bin/kubectl
sops     v3.10.2  yours   not on PATH
age      v1.2.1   yours   not on PATH
not on PATH: sops, age; `+"`mise install`"+` in a clone installs those in mise.toml (https://mise.jdx.dev)
`, out.String())
}

func TestToolsRefuseAKubernetesThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	command := newToolsCommand()
	command.SetArgs([]string{"install", "--kubernetes", "1.35"})
	command.SilenceUsage, command.SilenceErrors = true, true
	require.EqualError(t, command.ExecuteContext(t.Context()), `--kubernetes: the control plane of Kubernetes "1.35" cannot be built: choose 1.36`)
}

func TestToolsListAsJSON(t *testing.T) {
	t.Setenv("EM_INFRA_CACHE", t.TempDir())
	t.Setenv("PATH", "")
	out := runTools(t, "list", "--output", "json")
	var tools []toolchain.Tool
	require.NoError(t, json.Unmarshal(out, &tools))
	names := []string{}
	for _, tool := range tools {
		require.False(t, tool.Installed, tool.Name)
		require.Regexp(t, `^v\d+\.\d+\.\d+$`, tool.Version)
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"pulumi", "proxmoxve", "talos", "command", "kubernetes", "language-go", "controlplane", "kwok", "controlplane-1.36", "kubectl", "talosctl", "sops", "age"}, names)
	require.Equal(t, toolchain.StandIn, tools[3].Origin)
}

func TestToolsRefuseAnUnknownFormat(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"install", "list"} {
		command := newToolsCommand()
		command.SetArgs([]string{name, "--output", "xml"})
		command.SilenceUsage, command.SilenceErrors = true, true
		err := command.Execute()
		require.EqualError(t, err, `--output: "xml" is no format: choose text or json`)
		require.Equal(t, exitRefused, exitCode(err))
	}
}

func runTools(t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	command := newToolsCommand()
	command.SetArgs(args)
	command.SetOut(&out)
	require.NoError(t, command.ExecuteContext(t.Context()))
	return out.Bytes()
}
