package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// terraform is a working folder of Terraform for the cluster of a lab.
type terraform struct {
	command string
	dir     string
	env     []string
}

// providers are the modules with the providers' programs, which tools/go.mod has for the plugins.
var providers = map[string]string{
	"bpg/proxmox":      "github.com/bpg/terraform-provider-proxmox",
	"siderolabs/talos": "github.com/siderolabs/terraform-provider-talos",
}

// newTerraform builds the providers and writes the variables of a lab. It skips the benchmark where Terraform is not installed.
func newTerraform(b *testing.B, s stack, nodes int) terraform {
	b.Helper()
	command, err := exec.LookPath("terraform")
	if err != nil {
		b.Skip("terraform is not on PATH")
	}
	t := terraform{command: command, dir: b.TempDir()}
	program, err := os.ReadFile("testdata/terraform/main.tf")
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(t.dir, "main.tf"), program, 0o600))
	variables, err := json.Marshal(variablesOf(b, s, nodes))
	require.NoError(b, err)
	require.NoError(b, os.WriteFile(filepath.Join(t.dir, "terraform.tfvars.json"), variables, 0o600))
	t.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+buildProviders(b), "CHECKPOINT_DISABLE=1")
	return t
}

// buildProviders returns a configuration of the CLI that names the built providers.
func buildProviders(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	overrides := ""
	for _, source := range []string{"bpg/proxmox", "siderolabs/talos"} {
		build := exec.CommandContext(b.Context(), "go", "build", "-o", filepath.Join(dir, filepath.Base(providers[source])), providers[source])
		build.Dir = filepath.Join("..", "..", "tools")
		output, err := build.CombinedOutput()
		require.NoError(b, err, "%s", output)
		overrides += fmt.Sprintf("    %q = %q\n", source, dir)
	}
	file := filepath.Join(dir, "cli.tfrc")
	require.NoError(b, os.WriteFile(file, []byte("provider_installation {\n  dev_overrides {\n"+overrides+"  }\n  direct {}\n}\n"), 0o600))
	return file
}

// variablesOf returns the variables of main.tf for the lab of a stack, with the nodes of its inventory on the lab's network.
func variablesOf(b *testing.B, s stack, count int) map[string]any {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(s.Dir(), "lab.json"))
	require.NoError(b, err)
	var lab struct {
		Network                 netip.Prefix
		Proxmox, Factory, Token string
	}
	require.NoError(b, json.Unmarshal(text, &lab))
	base := lab.Network.Masked().Addr().As4()
	at := func(number int) string {
		return netip.AddrFrom4([4]byte{base[0], base[1], base[2] + byte(number>>8), base[3] + byte(number)}).String()
	}
	nodes := map[string]any{}
	for i := range count {
		name := fmt.Sprintf("worker-%d", i)
		if i == 0 {
			name = "control-1"
		}
		nodes[name] = map[string]any{"vmid": 1000 + i, "address": at(11 + i), "control_plane": i == 0}
	}
	return map[string]any{
		"lab":     map[string]string{"proxmox": lab.Proxmox, "factory": lab.Factory, "token": lab.Token},
		"network": map[string]string{"cidr": lab.Network.String(), "gateway": at(1), "vip": at(10)},
		"nodes":   nodes,
	}
}

// run runs Terraform to its end and returns its output.
func (t terraform) run(b *testing.B, args ...string) []byte {
	b.Helper()
	command := exec.CommandContext(context.WithoutCancel(b.Context()), t.command, args...)
	command.Dir, command.Env = t.dir, t.env
	output, err := command.Output()
	if err != nil {
		var exit *exec.ExitError
		if require.ErrorAs(b, err, &exit); exit != nil {
			require.NoError(b, err, "%s\n%s", output, exit.Stderr)
		}
	}
	return output
}
