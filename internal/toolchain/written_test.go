package toolchain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

func TestPluginsAreToldApartByTheirBuild(t *testing.T) {
	t.Parallel()
	installed := &toolchain.Installed{Tools: []toolchain.Tool{
		{Name: "pulumi", Kind: toolchain.CLI, Version: "v3.254.0", Origin: toolchain.Official},
		{Name: "proxmoxve", Kind: toolchain.Plugin, Version: "v6.18.1", Origin: toolchain.Built, From: "github.com/bpg/terraform-provider-proxmox v0.73.0"},
		{Name: "talos", Kind: toolchain.Plugin, Version: "v0.7.1", Origin: toolchain.Official},
		{Name: "command", Kind: toolchain.Plugin, Version: "v1.2.1", Origin: toolchain.StandIn},
	}}
	now := map[string]string{"proxmoxve": "v6.18.1, built from v0.73.0", "talos": "v0.7.1, official", "command": "v1.2.1, stand-in"}
	require.Equal(t, now, installed.Plugins())

	require.Empty(t, toolchain.OtherPlugins(now, now))
	require.Empty(t, toolchain.OtherPlugins(nil, now), "the state does not record its plugins")
	require.Equal(t, []string{
		"proxmoxve: v6.18.1, built from v0.73.0 (before: v6.18.1, official)",
		"talos: v0.7.1, official (before: v0.7.1, built from v0.8.0)",
	}, toolchain.OtherPlugins(map[string]string{
		"proxmoxve": "v6.18.1, official", "talos": "v0.7.1, built from v0.8.0", "kubernetes": "v4.30.0, official",
	}, now))
}
