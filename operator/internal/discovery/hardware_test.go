package discovery_test

import (
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

const thirdFirmware = "33333333-2222-4333-8444-555555555555"

// plain are the settings that all machines of this cluster have.
func plain(settings pve.GuestConfig) pve.GuestConfig {
	config := pve.GuestConfig{
		"scsi0": "tank:vm-1-disk-0,size=32G", "memory": "4096", "cores": "4", "cpu": "x86-64-v2-AES", "machine": "q35", "bios": "ovmf",
		"scsihw": "virtio-scsi-single", "onboot": "1", "ide2": "tank:vm-1-cloudinit,media=cdrom", "citype": "nocloud",
	}
	for name, value := range settings {
		config[name] = value
	}
	return config
}

func prefixes(texts ...string) (parsed []netip.Prefix) {
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

func cardOf(t *testing.T, mac string, mtu int, addresses ...string) nodeops.Card {
	t.Helper()
	parsed, err := net.ParseMAC(mac)
	require.NoError(t, err)
	return nodeops.Card{MAC: parsed, MTU: mtu, Addresses: prefixes(addresses...)}
}

// configuredForBoth returns the machine configuration of a control plane of two IP families.
func configuredForBoth(t *testing.T) []byte {
	t.Helper()
	return configured(t, config.TalosVersion1_12, sharing("192.168.20.10"), func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterNetwork.PodSubnet = []string{"10.244.0.0/16", "fd00:244::/56"}
		c.ClusterConfig.ClusterNetwork.ServiceSubnet = []string{"10.96.0.0/12", "fd00:96::/112"}
	})
}

// equipped is a cluster of two IP families: a control plane, a worker with data disks and further network cards, and a worker with GPUs.
func equipped(t *testing.T, configuration []byte) (discovery.Cluster, []discovery.Machine) {
	t.Helper()
	node := func(name, last, firmware string, extensions ...string) nodeops.Profile {
		return nodeops.Profile{
			Name: name, Address: netip.MustParsePrefix("192.168.20." + last + "/24"), Address6: netip.MustParsePrefix("fd00:20::" + last + "/64"),
			Firmware: firmware, Extensions: append([]string{"qemu-guest-agent"}, extensions...),
			Observation: nodeops.Observation{
				Talos: "v1.12.4", Kubelet: "v1.35.4", Gateways: []netip.Addr{netip.MustParseAddr("192.168.20.1"), netip.MustParseAddr("fe80::1")},
			},
		}
	}
	control, worker := node("control-1", "11", firstFirmware), node("worker-1", "21", secondFirmware)
	control.Configuration = configuration
	control.Cards = []nodeops.Card{cardOf(t, "bc:24:11:00:00:01", 1500, "192.168.20.10/32", "192.168.20.11/24")}
	worker.Cards = []nodeops.Card{
		cardOf(t, "bc:24:11:00:00:02", 1500, "192.168.20.21/24"), cardOf(t, "bc:24:11:00:00:12", 9000, "10.0.40.21/24", "10.0.41.21/24"),
		cardOf(t, "bc:24:11:00:00:22", 1500),
	}
	worker.Volumes = []nodeops.Volume{
		{Name: "EPHEMERAL", Phase: "ready", Drive: "scsi0"}, {Name: "scratch", Phase: "ready", Drive: "scsi2"},
		{Name: "models", Phase: "ready", Drive: "scsi1"},
	}
	gpu := node("gpu-1", "31", thirdFirmware, "nvidia-container-toolkit-lts", "nvidia-open-gpu-kernel-modules-lts")
	found := discovery.Cluster{Nodes: []discovery.Node{{ControlPlane: true, Profile: control}, {Profile: worker}, {Profile: gpu}}}
	return found, []discovery.Machine{
		{Guest: pve.Guest{VMID: 101, Node: "vmhost", Type: "qemu"}, Config: plain(pve.GuestConfig{
			"smbios1": "uuid=" + firstFirmware, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
		})},
		{Guest: pve.Guest{VMID: 102, Node: "vmhost", Type: "qemu"}, Config: plain(pve.GuestConfig{
			"smbios1": "uuid=" + secondFirmware, "net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,mtu=1",
			"net1": "virtio=BC:24:11:00:00:12,bridge=vmbr1,tag=40,mtu=1", "net3": "virtio=BC:24:11:00:00:22,bridge=vmbr2",
			"scsi1": "tank:vm-102-disk-1,size=500G", "scsi2": "ceph:vm-102-disk-2,size=2T",
		})},
		{Guest: pve.Guest{VMID: 103, Node: "vmhost", Type: "qemu"}, Config: plain(pve.GuestConfig{
			"smbios1": "uuid=" + thirdFirmware, "net0": "virtio=BC:24:11:00:00:03,bridge=vmbr0", "cpu": "host",
			"hostpci0": "mapping=rtx3090,pcie=1", "hostpci1": "host=01:00,pcie=1",
		}), Devices: []pve.PCIDevice{{
			Address: "0000:01:00.0", Vendor: "0x10de", Device: "0x2204", SubsystemVendor: "0x1462", SubsystemDevice: "0x3881", IOMMUGroup: 12,
		}}},
	}
}

func TestHardwareIsDescribed(t *testing.T) {
	t.Parallel()
	cluster, machines := equipped(t, configuredForBoth(t))
	require.NoError(t, cluster.Match(machines))
	files, err := cluster.Describe()
	require.NoError(t, err)
	golden.Equal(t, "testdata/equipped-cluster.yaml", string(files.Cluster))
	golden.Equal(t, "testdata/equipped-nodes.yaml", string(files.Nodes))
	_, err = inventory.Parse("testdata", files.Cluster, files.Nodes)
	require.NoError(t, err, "a valid inventory")
	require.Equal(t, []string{
		"talos.contract v1.12 is a guess by the defaults that the nodes run with: if you know with which release the cluster was made, write that",
		"talos.schematic has the extensions of control-1, taken for those of siderolabs; kernelArgs cannot be read: add them",
		"worker-1: networks gives each further card one address, and 10.0.41.21/24 are more: add them as patches of this node",
		"gpu-1: its PCI device 0000:01:00.0 has no resource mapping: an up makes one, and reboots the node to use it",
		"gpu-1: its PCI device 0000:01:00.0 is passed with all functions of its slot, and nodes.yaml names the first: add an item for each other that the node needs",
	}, files.Notes)
}

// TestWhatHardwareCannotBeDescribed: each case changes one machine or node, and has a note with what to do.
func TestWhatHardwareCannotBeDescribed(t *testing.T) {
	t.Parallel()
	configuration := configuredForBoth(t)
	dataDisks := "worker-1: dataDisks cannot describe %s, but only disks from scsi1 on without a gap, each with a ready user volume of Talos: " +
		"move the data to one, or leave the machine with the tool that made it"
	for _, test := range []struct {
		name   string
		change func(*discovery.Cluster, []discovery.Machine)
		note   string
	}{
		{"a disk without a volume", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[1].Volumes = c.Nodes[1].Volumes[:2] }, fmt.Sprintf(dataDisks, "scsi1, scsi2")},
		{"a volume that is not ready", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[1].Volumes[1].Phase = "failed" }, fmt.Sprintf(dataDisks, "scsi2")},
		{"part of a GiB", func(_ *discovery.Cluster, m []discovery.Machine) {
			m[1].Config["scsi2"] = "tank:vm-102-disk-2,size=1025M"
		}, fmt.Sprintf(dataDisks, "scsi2")},
		{"another controller", func(_ *discovery.Cluster, m []discovery.Machine) {
			m[1].Config["virtio0"] = "tank:vm-102-disk-3,size=1G"
		}, fmt.Sprintf(dataDisks, "virtio0")},
		{
			"no lasting IPv6 address", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[1].Address6 = netip.Prefix{} },
			"worker-1: it has no lasting IPv6 address, and the pods have an IPv6 network: give each node one in the machine configuration first, or write cidr6 and address6 by hand",
		},
		{
			"a control plane with a device", func(_ *discovery.Cluster, m []discovery.Machine) { m[0].Config["hostpci0"] = "mapping=rtx3090" },
			"control-1: it is a control plane with a PCI device, which an inventory gives to gpu-workers alone: move the device to a worker first",
		},
		{
			"no driver", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[2].Extensions = c.Nodes[2].Extensions[:1] },
			"gpu-1: its image has no driver of NVIDIA, and that of every gpu-worker has one: an up upgrades it to such an image, with a reboot",
		},
		{
			"other extensions", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[1].Extensions = []string{"iscsi-tools"} },
			"worker-1: its image has the extensions [iscsi-tools], and that of control-1 [qemu-guest-agent]: an up upgrades it to an image with those of talos.schematic, with a reboot",
		},
		{
			"a device that the host does not list", func(_ *discovery.Cluster, m []discovery.Machine) { m[2].Devices = nil },
			"gpu-1: vmhost does not tell everything about its PCI device 0000:01:00.0: give deviceId, subsystemId and iommuGroup in nodes.yaml, as `lspci -Dnnv` prints them",
		},
		{
			"a device without a subsystem", func(_ *discovery.Cluster, m []discovery.Machine) { m[2].Devices[0].SubsystemVendor = "" },
			"gpu-1: vmhost does not tell everything about its PCI device 0000:01:00.0: give deviceId, subsystemId and iommuGroup in nodes.yaml, as `lspci -Dnnv` prints them",
		},
		{
			"the IOMMU is off", func(_ *discovery.Cluster, m []discovery.Machine) { m[2].Devices[0].IOMMUGroup = -1 },
			"gpu-1: vmhost does not tell everything about its PCI device 0000:01:00.0: give deviceId, subsystemId and iommuGroup in nodes.yaml, as `lspci -Dnnv` prints them",
		},
		{
			"several devices in one setting", func(_ *discovery.Cluster, m []discovery.Machine) {
				m[2].Config["hostpci1"] = "0000:01:00.0;0000:02:00.0"
			},
			"gpu-1: its PCI device 0000:02:00.0 has no resource mapping: an up makes one, and reboots the node to use it",
		},
		{
			"another VLAN", func(_ *discovery.Cluster, m []discovery.Machine) { m[2].Config["net0"] += ",tag=20" },
			"gpu-1: the VLAN is 20, and control-1 has 0: make them alike first",
		},
		{
			"another MTU", func(c *discovery.Cluster, _ []discovery.Machine) { c.Nodes[1].Cards[0].MTU = 9000 },
			"worker-1: the MTU is 9000, and control-1 has 1500: make them alike first",
		},
	} {
		cluster, machines := equipped(t, configuration)
		cluster.Terraform.Contract = "v1.12"
		test.change(&cluster, machines)
		require.NoError(t, cluster.Match(machines))
		files, err := cluster.Describe()
		require.NoError(t, err, test.name)
		require.Contains(t, files.Notes, test.note, test.name)
	}
}

// TestDevicesAreReadOnlyForAddresses: a resource mapping needs no look at the devices of its host.
func TestDevicesAreReadOnlyForAddresses(t *testing.T) {
	t.Parallel()
	for setting, passes := range map[string]bool{"": false, "mapping=rtx3090,pcie=1": false, "0000:01:00.0": true, "host=01:00": true} {
		machine := discovery.Machine{Config: pve.GuestConfig{"hostpci0": setting}}
		require.Equal(t, passes, machine.PassesDevice(), setting)
	}
}

// TestTheTemplateOfTheClusterStays: one that em-infra made for another cluster is not taken, nor is a VMID that is in use.
func TestTheTemplateOfTheClusterStays(t *testing.T) {
	t.Parallel()
	configuration := configuredForBoth(t)
	parsed, err := configloader.NewFromBytes(configuration)
	require.NoError(t, err)
	own := ownership.Owner{Stack: "home", Cluster: ownership.Short(parsed.Cluster().ID())}
	others := ownership.Owner{Stack: "home", Cluster: ownership.Short("another")}
	template := func(vmid int, node string, owner ownership.Owner) discovery.Machine {
		return discovery.Machine{
			Guest:  pve.Guest{VMID: vmid, Node: node, Type: "qemu", Template: true},
			Config: pve.GuestConfig{"description": "Talos v1.12.4, " + owner.Mark() + ". Nodes are cloned from it."},
		}
	}
	for _, test := range []struct {
		name      string
		templates []discovery.Machine
		written   string
	}{
		{"none", nil, "template: {vmid: 9000, perHost: {vmhost2: 9001}}"},
		{"of another cluster", []discovery.Machine{template(9000, "vmhost", others)}, "template: {vmid: 9001, perHost: {vmhost2: 9002}}"},
		{"its own", []discovery.Machine{template(8000, "vmhost", own)}, "template: {vmid: 8000, perHost: {vmhost2: 9000}}"},
		{"its own on both hosts", []discovery.Machine{template(9500, "vmhost2", own), template(9000, "vmhost", own)}, "template: {vmid: 9000, perHost: {vmhost2: 9500}}"},
	} {
		cluster, machines := equipped(t, configuration)
		machines[1].Node = "vmhost2"
		cluster.Terraform.Contract = "v1.12"
		require.NoError(t, cluster.Match(append(machines, test.templates...)))
		files, err := cluster.Describe()
		require.NoError(t, err, test.name)
		require.Contains(t, string(files.Cluster), test.written, test.name)
	}
}
