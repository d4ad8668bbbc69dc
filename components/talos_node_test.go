package components_test

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

// oneNode makes a node outside any cluster of ours, changed from the fixture.
func oneNode(change func(*components.TalosNodeArgs)) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		args := nodeFixture(template, machineFixture("worker-1", components.RoleWorker, 21))
		change(&args)
		_, err = components.NewTalosNode(ctx, "worker-1", &args, providers)
		return err
	}
}

// everything returns a machine with every field set.
func everything(args *components.TalosNodeArgs) {
	m := &args.Machine
	m.Sockets, m.CPUType = 2, "host"
	m.Addresses = append(m.Addresses, netip.MustParsePrefix("fd00:20::21/64"))
	m.DataDisks = []components.DataDisk{
		{SizeGiB: 100, Storage: "nvme", Mount: "models"},
		{SizeGiB: 50, Storage: "tank", Mount: "a-volume-with-a-long-name"},
	}
	m.NICs = []components.NIC{
		{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 1, 0, 21}, Bridge: "vmbr1", VLAN: 40, Address: netip.MustParsePrefix("10.0.40.21/24"), MTU: 9000},
		{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 2, 0, 21}, Bridge: "vmbr2"},
	}
	m.Startup = &components.Startup{Order: 2, UpDelaySeconds: 30, DownDelaySeconds: 60}
	m.Labels = map[string]string{"example.org/disk": "fast"}
	m.Taints = map[string]string{"example.org/batch": "yes:NoSchedule"}
	m.Patches = []string{"machine: {sysctls: {vm.nr_hugepages: \"1\"}}"}
	args.Network.Gateways = append(args.Network.Gateways, netip.MustParseAddr("fd00:20::1"))
	args.Network.Subnets = append(args.Network.Subnets, netip.MustParsePrefix("fd00:20::/64"))
}

func TestInputsOfNodesAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneNode(everything))
	require.NoError(t, err)
	for _, resource := range []struct{ token, name string }{
		{"em-infra:index:TalosNode", "worker-1"}, {tokenVM, "worker-1-vm"}, {tokenApply, "worker-1-configuration"},
	} {
		inputs, err := recorder.Inputs(r.Named(t, resource.token, resource.name))
		require.NoError(t, err)
		golden.Equal(t, "testdata/inputs/"+resource.name+".json", inputs)
	}
}

// TestF22WhatTheProviderWouldFillInIsPinned: the provider reads unset properties back as its own defaults, so every preview
// after the first would show a difference.
func TestF22WhatTheProviderWouldFillInIsPinned(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneNode(everything))
	require.NoError(t, err)
	inputs := r.Named(t, tokenVM, "worker-1-vm").Inputs
	for _, list := range []struct {
		property resource.PropertyKey
		pinned   []resource.PropertyKey
	}{
		{"disks", []resource.PropertyKey{"datastoreId", "discard", "fileFormat", "interface", "iothread", "size", "ssd"}},
		{"networkDevices", []resource.PropertyKey{"bridge", "firewall", "macAddress", "model", "mtu", "vlanId"}},
	} {
		for _, element := range inputs[list.property].ArrayValue() {
			for _, key := range list.pinned {
				require.Contains(t, element.ObjectValue(), key, list.property)
			}
		}
	}
	for _, key := range []resource.PropertyKey{"agent", "bios", "bootOrders", "cpu", "memory", "onBoot", "operatingSystem", "scsiHardware", "started", "stopOnDestroy"} {
		require.Contains(t, inputs, key)
	}
}

func TestAMachineIsGivenTimeToStopUnlessItsOwnIsSaid(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		seconds int
		want    float64
	}{{0, -1}, {60, 60}} {
		r, err := run(t, false, oneNode(func(args *components.TalosNodeArgs) {
			args.Machine.Startup = &components.Startup{Order: 1, DownDelaySeconds: test.seconds}
		}))
		require.NoError(t, err)
		startup := r.Named(t, tokenVM, "worker-1-vm").Inputs["startup"].ObjectValue()
		require.Equal(t, test.want, startup["downDelay"].NumberValue(), "0 would have the host cut the power at once")
		require.Zero(t, startup["upDelay"].NumberValue())
	}
}

func TestANodeThatTakesItsAddressFromDHCPHasItsMACOnly(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneNode(func(args *components.TalosNodeArgs) {
		everything(args)
		args.Network.Addressing = components.AddressingDHCP
	}))
	require.NoError(t, err)
	inputs := r.Named(t, tokenVM, "worker-1-vm").Inputs
	configs := inputs["initialization"].ObjectValue()["ipConfigs"].ArrayValue()
	require.Equal(t, []resource.PropertyValue{resource.NewPropertyValue(map[string]any{
		"ipv4": map[string]any{"address": "dhcp"}, "ipv6": map[string]any{"address": "dhcp"},
	})}, configs)
	require.Equal(t, "BC:24:11:00:00:15", inputs["networkDevices"].ArrayValue()[0].ObjectValue()["macAddress"].StringValue())
}

func TestWhatAMachineAloneHasIsTheLastWordOnItsConfiguration(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, oneNode(func(args *components.TalosNodeArgs) {
		everything(args)
		args.ConfigPatches = pulumi.StringArray{pulumi.String("machine: {}")}
	}))
	require.NoError(t, err)
	require.Equal(t, []string{
		"machine: {}",
		"machine:\n  kubelet:\n    extraConfig:\n      registerWithTaints:\n        - effect: NoSchedule\n          key: example.org/batch\n          value: \"yes\"\n  nodeLabels:\n    example.org/disk: fast\n",
		"machine: {sysctls: {vm.nr_hugepages: \"1\"}}",
	}, configPatches(t, r, "worker-1-configuration"))
	require.True(t, r.Named(t, tokenApply, "worker-1-configuration").Inputs["machineConfigurationInput"].IsSecret())
}

func TestNodeArgumentsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	node := func(args *components.TalosNodeArgs) error {
		return refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
			template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost2"), providers)
			if err != nil {
				return err
			}
			if args != nil {
				args.Template = template
			}
			_, err = components.NewTalosNode(ctx, "node", args, providers)
			return err
		})
	}
	require.EqualError(t, node(&components.TalosNodeArgs{
		Machine: components.Machine{
			Name: "worker-1", Host: "vmhost", DataDisks: []components.DataDisk{{}}, NICs: []components.NIC{{}},
		},
		Network: components.NodeNetwork{Addressing: "slaac"},
	}), `talos node "node": Role: "" is no role: use RoleControlPlane or RoleWorker
VMID: 0 is not between 100 and 999999999: choose a free number in that range
MAC: give the 6 bytes of a hardware address
Addresses: give at least one
Cores: 0 is not between 1 and 2304: give the cores of each socket
MemoryMiB: 0 is not between 1 and 268435456: give the memory in MiB
DiskGiB: 0 is smaller than the template's disk: give at least 1
DiskStorage: name the storage of its disk
DataDisks[0].SizeGiB: 0 is not 1 or more: give the size in GiB
DataDisks[0].Storage: name the storage
DataDisks[0].Mount: name the volume
NICs[0].MAC: give the 6 bytes of a hardware address
NICs[0].Bridge: name the bridge of Proxmox VE
Subnets: give at least one
Gateways: give at least one
Bridge: name the bridge of Proxmox VE
Addressing: "slaac" is unknown: use AddressingNoCloud or AddressingDHCP
Template: it stands on another host: give the one on vmhost, or share it
ClientConfiguration: give that of the cluster's machine.Secrets
MachineConfiguration: give the generated configuration`)
	require.EqualError(t, node(nil), `talos node "node": args: give TalosNodeArgs`)
}

// What Proxmox VE does not accept is refused here as it is in an inventory.
func TestWhatProxmoxDoesNotAcceptIsRefused(t *testing.T) {
	t.Parallel()

	mac := net.HardwareAddr{0xbc, 0x24, 0x11, 1, 0, 21}
	for _, test := range []struct {
		name   string
		change func(*components.Machine, *components.NodeNetwork)
		err    string
	}{
		{"tags of a VLAN that there is not", func(m *components.Machine, n *components.NodeNetwork) {
			n.VLAN = 4095
			m.NICs = []components.NIC{{MAC: mac, Bridge: "vmbr1", VLAN: -1}}
		}, `NICs[0].VLAN: -1 is not between 1 and 4094: choose a tag in that range, or 0 for none
VLAN: 4095 is not between 1 and 4094: choose a tag in that range, or 0 for none`},
		{"an MTU beyond that of Proxmox VE", func(m *components.Machine, n *components.NodeNetwork) {
			n.MTU = 65521
			m.NICs = []components.NIC{{MAC: mac, Bridge: "vmbr1", MTU: 575}}
		}, `NICs[0].MTU: 575 is not between 576 and 65520: choose 1500 unless the bridge has less
MTU: 65521 is not between 576 and 65520: choose 1500 unless the bridge has less`},
		{"an MTU that carries no IPv6", func(m *components.Machine, n *components.NodeNetwork) {
			n.MTU, n.Subnets = 1279, append(n.Subnets, netip.MustParsePrefix("fd00:20::/64"))
			m.NICs = []components.NIC{{MAC: mac, Bridge: "vmbr1", MTU: 1279, Address: netip.MustParsePrefix("fd00:40::21/64")}}
		}, `NICs[0].MTU: 1279 is too small for IPv6, which needs 1280: choose 1500 unless the bridge has less
MTU: 1279 is too small for IPv6, which needs 1280: choose 1500 unless the bridge has less`},
		{"more than the host's hardware can be", func(m *components.Machine, _ *components.NodeNetwork) {
			m.Sockets, m.Cores, m.MemoryMiB = 17, 2305, 268435457
		}, `Sockets: 17 is not between 1 and 16: choose a number in that range
Cores: 2305 is not between 1 and 2304: give the cores of each socket
MemoryMiB: 268435457 is not between 1 and 268435456: give the memory in MiB`},
		{"more devices than there are slots", func(m *components.Machine, _ *components.NodeNetwork) {
			for i := range 32 {
				mount := fmt.Sprintf("data-%d", i)
				m.DataDisks = append(m.DataDisks, components.DataDisk{SizeGiB: 1, Storage: "tank", Mount: mount})
				m.NICs = append(m.NICs, components.NIC{MAC: mac, Bridge: "vmbr1"})
				m.GPUs = append(m.GPUs, components.GPU{Mapping: "rtx3090"})
			}
		}, `DataDisks: 32 are more than a machine can have: give at most 13
NICs: 32 are more than a machine can have: give at most 31
GPUs: 32 are more than a machine can have: give at most 16`},
		{"names and addresses that are none", func(m *components.Machine, n *components.NodeNetwork) {
			m.Name, m.DiskStorage, m.Tags, n.Bridge = "Worker_1", "1", []string{"a tag"}, "vmbr 0"
			m.MAC = net.HardwareAddr{1, 0, 0, 0, 0, 0}
			m.NICs = []components.NIC{{MAC: make(net.HardwareAddr, 6), Bridge: "vmbr 1"}}
			m.DataDisks = []components.DataDisk{{SizeGiB: 1, Storage: "tank", Mount: "data"}, {SizeGiB: 1, Storage: "a b", Mount: "Data"}}
		}, `Name: "Worker_1" is not a DNS-1123 label: use a-z, 0-9 and -, at most 63 characters
MAC: 01:00:00:00:00:00 is a multicast address: choose one whose first byte is even
DiskStorage: "1" is not valid in Proxmox VE (a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit): choose another name
Tags[0]: "a tag" is not valid in Proxmox VE (a tag: lower-case letters, digits, _, -, + and ., the first a letter, digit or _): choose another name
DataDisks[1].Storage: "a b" is not valid in Proxmox VE (a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit): choose another name
DataDisks[1].Mount: "Data" is used by DataDisks[0] too: choose another
NICs[0].MAC: give the 6 bytes of a hardware address
NICs[0].Bridge: "vmbr 1" is not valid in Proxmox VE (a bridge's name: letters, digits, -, _ and ., at most 15 characters): choose another name
Bridge: "vmbr 0" is not valid in Proxmox VE (a bridge's name: letters, digits, -, _ and ., at most 15 characters): choose another name`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			require.EqualError(t, refusal(t, oneNode(func(args *components.TalosNodeArgs) {
				test.change(&args.Machine, &args.Network)
			})), `talos node "worker-1": `+test.err)
		})
	}
}

// F23: without the option to migrate, the provider deletes a machine that was moved on the host, or whose host was changed, and
// creates it again.
func TestF23AnotherHostIsAMoveAndNoReplacement(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	for _, name := range []string{"k3s-dev-control-1-vm", "k3s-dev-worker-1-vm"} {
		require.True(t, r.Named(t, tokenVM, name).Inputs["migrate"].BoolValue(), name)
	}
}

// F18: clones that allocate on one storage fail if they do not get its lock within 10 s. They are retried, and do not wait for
// each other.
func TestF18ClonesTryAgainAndDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(oneAndOne("k3s-dev")))
	require.NoError(t, err)
	for _, name := range []string{"k3s-dev-control-1-vm", "k3s-dev-worker-1-vm"} {
		machine := r.Named(t, tokenVM, name)
		require.InDelta(t, 3, machine.Inputs["clone"].ObjectValue()["retries"].NumberValue(), 0, name)
		require.Equal(t, []string{"k3s-dev-template-vm"}, machineNames(machine.RegisterRPC.GetDependencies()), name)
	}
}

// machineNames returns the names of the virtual machines among URNs.
func machineNames(urns []string) []string {
	return recorder.ShortURNs(slices.DeleteFunc(slices.Clone(urns), func(urn string) bool { return !strings.Contains(urn, tokenVM+"::") }))
}
