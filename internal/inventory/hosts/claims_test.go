package hosts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
)

const headOfHosts = "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\n"

// everyClaim describes one of each thing that a stack of hosts claims for itself.
const everyClaim = headOfHosts + `hosts:
  - name: vmhost
    timeZone: UTC
    dns: {searchDomain: home.example, servers: [192.168.20.1]}
    names: [{address: 192.168.20.5, names: [nas]}]
    repositories: [{handle: enterprise}]
    network:
      bridges: [{name: vmbr1, ports: [eno2], address: 10.0.0.1/24, address6: "fd00::1/64"}]
      vlans: [{device: vmbr1, tag: 30}]
storages: [{name: nas, type: dir, path: /srv, content: [iso]}]
mappings: [{name: gpu, devices: [{host: vmhost, bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1458:403b", iommuGroup: 1}]}]
usbMappings: [{name: zwave, devices: [{host: vmhost, id: "0658:0200"}]}]
pools: [{name: web}]
access:
  roles: [{name: Backup, privileges: [VM.Backup]}]
  groups: [{name: viewers}]
  users: [{id: backup@pve}]
metricServers: [{name: graphs, type: graphite, server: 192.168.20.7, port: 2003, protocol: udp}]
backupJobs: [{name: nightly, schedule: "02:30", storage: tape, all: true}]
`

func parsed(t *testing.T, text string) *hosts.Inventory {
	t.Helper()
	inv, err := hosts.Parse("stacks/site", []byte(text))
	require.NoError(t, err)
	return inv
}

// TestTwoStacksOfHosts: everything that both stacks describe is reported at its place in the file, except pools, which several stacks may use.
func TestTwoStacksOfHosts(t *testing.T) {
	t.Parallel()
	beside := inventory.Beside{Stack: "other", Inventory: parsed(t, everyClaim), SameEndpoint: true}
	err := inventory.CheckBeside(parsed(t, everyClaim), beside)
	require.Error(t, err)
	golden.Equal(t, "testdata/beside.txt", err.Error()+"\n")

	elsewhere := parsed(t, strings.ReplaceAll(everyClaim, "vmhost", "pve1"))
	require.NoError(t, inventory.CheckBeside(elsewhere, inventory.Beside{Stack: "other", Inventory: parsed(t, everyClaim)}), "on another Proxmox VE")
}
