package discovery_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/discovery"
)

// configured returns the machine configuration of a control plane that was made by the rules of a contract.
func configured(t *testing.T, contract *config.VersionContract, changes ...func(*v1alpha1.Config)) []byte {
	t.Helper()
	bundle, err := secrets.NewBundle(secrets.NewFixedClock(time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)), contract)
	require.NoError(t, err)
	input, err := generate.NewInput("old", "https://192.168.20.10:6443", "1.35.4", generate.WithSecretsBundle(bundle),
		generate.WithVersionContract(contract), generate.WithInstallDisk("/dev/sda"), generate.WithAllowSchedulingOnControlPlanes(true))
	require.NoError(t, err)
	made, err := input.Config(machine.TypeControlPlane)
	require.NoError(t, err)
	made, err = made.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		for _, change := range changes {
			change(c)
		}
		return nil
	})
	require.NoError(t, err)
	text, err := made.Bytes()
	require.NoError(t, err)
	return text
}

// sharing makes a control plane share an address.
func sharing(address string) func(*v1alpha1.Config) {
	return func(c *v1alpha1.Config) {
		c.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkInterfaces: v1alpha1.NetworkDeviceList{
			{DeviceInterface: "eth0", DeviceVIPConfig: &v1alpha1.DeviceVIPConfig{SharedIP: address}},
		}}
	}
}

const (
	firstFirmware  = "11111111-2222-4333-8444-555555555555"
	secondFirmware = "99999999-2222-4333-8444-555555555555"
)

// machines are a control plane as em-infra would have it, a worker of another kind, and a container.
func machines() []discovery.Machine {
	return []discovery.Machine{
		{Guest: pve.Guest{VMID: 9000, Node: "vmhost", Type: "lxc"}},
		{Guest: pve.Guest{VMID: 302, Node: "vmhost2", Type: "qemu"}, Config: pve.GuestConfig{
			"smbios1": "uuid=" + secondFirmware, "net0": "virtio=BC:24:11:00:00:02,bridge=vmbr1", "scsi0": "ceph:vm-302-disk-0,size=1T", "memory": "16384",
			"sockets": "2", "cores": "2", "cpu": "x86-64-v2-AES", "scsihw": "virtio-scsi-pci", "tags": "prod;talos",
		}},
		{Guest: pve.Guest{VMID: 301, Node: "vmhost", Type: "qemu", Pool: "old"}, Config: pve.GuestConfig{
			"smbios1": "uuid=" + firstFirmware + ",base64=1", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20,mtu=1500",
			"scsi0": "tank:vm-301-disk-0,discard=on,size=32G", "memory": "4096", "cores": "4", "cpu": "cputype=host,flags=+aes", "machine": "pc-q35-9.0",
			"bios": "ovmf", "scsihw": "virtio-scsi-single", "onboot": "1", "tags": "talos", "ide2": "tank:vm-301-cloudinit,media=cdrom",
		}},
	}
}

// found is the cluster of these machines.
func found(configuration []byte) discovery.Cluster {
	return discovery.Cluster{Nodes: []discovery.Node{
		{ControlPlane: true, Profile: nodeops.Profile{
			Name: "old-control-1", Address: netip.MustParsePrefix("192.168.20.31/24"), Firmware: firstFirmware, Extensions: []string{"qemu-guest-agent"},
			Observation: nodeops.Observation{
				Talos: "v1.12.4", Kubelet: "v1.35.4", Gateways: []netip.Addr{netip.MustParseAddr("192.168.20.1")}, Configuration: configuration,
			},
		}},
		{Profile: nodeops.Profile{
			Name: "old-worker-1", Address: netip.MustParsePrefix("192.168.20.41/24"), Firmware: secondFirmware,
			Observation: nodeops.Observation{Talos: "v1.12.3", Kubelet: "v1.35.4"},
		}},
	}}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	cluster := found(configured(t, config.TalosVersion1_10, sharing("192.168.20.10")))
	require.NoError(t, cluster.Match(machines()))
	files, err := cluster.Describe()
	require.NoError(t, err)
	golden.Equal(t, "testdata/cluster.yaml", string(files.Cluster))
	golden.Equal(t, "testdata/nodes.yaml", string(files.Nodes))
	_, err = inventory.Parse("testdata", files.Cluster, files.Nodes)
	require.NoError(t, err, "a valid inventory")
	require.Equal(t, []string{
		"talos.contract v1.11 is a guess by the defaults that the nodes run with: if you know with which release the cluster was made, write that",
		"talos.schematic has the extensions of old-control-1, taken for those of siderolabs; kernelArgs cannot be read: add them",
		"old-control-1: its cloud-init drive names no format, for which the provider would replace the machine: run `qm set 301 --citype nocloud` on vmhost first; that is what it has, and nothing reboots",
		"old-worker-1: bios is seabios and not ovmf, as all machines of em-infra are: replace it by a new node, or leave it with the tool that made it",
		"old-worker-1: machine is i440fx and not q35, as all machines of em-infra are: replace it by a new node, or leave it with the tool that made it",
		"old-worker-1: Talos is v1.12.3, and old-control-1 has v1.12.4: make them alike first",
		"old-worker-1: addressing is dhcp, and old-control-1 has nocloud: make them alike first",
		"old-worker-1: the bridge is vmbr1, and old-control-1 has vmbr0: make them alike first",
		"old-worker-1: the VLAN is 0, and old-control-1 has 20: make them alike first",
		"old-worker-1: the controller of its disks is virtio-scsi-pci, and old-control-1 has virtio-scsi-single: make them alike first",
		"old-worker-1: its image has the extensions [], and that of old-control-1 [qemu-guest-agent]: an up upgrades it to an image with those of talos.schematic, with a reboot",
	}, files.Notes)
}

func TestTerraformIsAHint(t *testing.T) {
	t.Parallel()
	terraform, err := discovery.ReadTerraform([]byte(`{"version": 4, "resources": [
  {"mode": "data", "type": "proxmox_virtual_environment_vm", "name": "seen", "instances": [{"attributes": {"id": "301", "vm_id": 301}}]},
  {"mode": "managed", "type": "talos_machine_secrets", "name": "this", "instances": [{"attributes": {"talos_version": "v1.9.5"}}]},
  {"module": "module.k8s", "mode": "managed", "type": "proxmox_virtual_environment_vm", "name": "node", "instances": [{"index_key": "a", "attributes": {"id": "302", "vm_id": 302}}]},
  {"mode": "managed", "type": "proxmox_cloned_vm", "name": "new", "instances": [{"attributes": {"id": 304}}]},
  {"mode": "managed", "type": "proxmox_vm_qemu", "name": "old", "instances": [
    {"index_key": 0, "attributes": {"id": "vmhost/qemu/301", "vmid": 301, "target_node": "vmhost"}},
    {"index_key": 1, "attributes": {"id": "vmhost/qemu/400", "vmid": null}},
    {"index_key": 2, "attributes": {"id": "vmhost/qemu/303", "vmid": 0}},
    {"index_key": 3, "attributes": {"vmid": 305}}, {"index_key": 4, "attributes": {"id": ""}}]},
  {"mode": "managed", "type": "proxmox_lxc", "name": "container", "instances": [{"attributes": {"id": "vmhost/lxc/305", "vmid": 305}}]}
]}`))
	require.NoError(t, err)
	require.Equal(t, "v1.9", terraform.Contract)
	require.Equal(t, []string{"proxmox_vm_qemu.old[0]", `module.k8s.proxmox_virtual_environment_vm.node["a"]`, "proxmox_vm_qemu.old[2]", "proxmox_cloned_vm.new"},
		terraform.Addresses([]int{304, 302, 301, 303, 305}), "a tainted machine without an ID was never made, and a container is no machine")

	cluster := found(configured(t, config.TalosVersion1_12))
	cluster.Terraform = terraform
	require.NoError(t, cluster.Match(machines()))
	files, err := cluster.Describe()
	require.NoError(t, err)
	require.Contains(t, string(files.Cluster), "contract: v1.9\n")
	require.Contains(t, files.Notes, `once the cluster is adopted, Terraform must forget its machines: terraform state rm 'proxmox_vm_qemu.old[0]' 'module.k8s.proxmox_virtual_environment_vm.node["a"]'`)

	for _, text := range []string{"secret: x", `{"version": 3}`} {
		_, err := discovery.ReadTerraform([]byte(text))
		require.EqualError(t, err, "it is no state of Terraform in format 4: give the terraform.tfstate, or what `terraform state pull` prints")
	}
}

func TestWhatCannotBeDescribed(t *testing.T) {
	t.Parallel()
	cluster := found(nil)
	require.EqualError(t, cluster.Match(machines()[:2]), "no machine of Proxmox VE is the one of old-control-1 (192.168.20.31, firmware "+firstFirmware+"): connect to the host that has it, and give the token VM.Audit on all machines")

	configuration := configured(t, config.TalosVersion1_12)
	for _, test := range []struct {
		name   string
		change func(*discovery.Cluster)
		text   string
	}{
		{"no control plane", func(c *discovery.Cluster) { c.Nodes[0].ControlPlane = false }, "no control plane answers: name a talosconfig that opens one with --talosconfig"},
		{"two networks", func(c *discovery.Cluster) { c.Nodes[1].Address = netip.MustParsePrefix("10.0.0.1/24") }, "old-worker-1 is in 10.0.0.0/24 and others are in 192.168.20.0/24: an inventory describes nodes of one network"},
		{"no prefix", func(c *discovery.Cluster) { c.Nodes[1].Address = netip.Prefix{} }, "old-worker-1 does not say how long its network's prefix is: write the inventory by hand"},
		{"no configuration", func(c *discovery.Cluster) { c.Nodes[0].Configuration = []byte("secret: [") }, "old-control-1: its machine configuration cannot be read"},
	} {
		cluster := found(configuration)
		require.NoError(t, cluster.Match(machines()))
		test.change(&cluster)
		_, err := cluster.Describe()
		require.EqualError(t, err, test.text, test.name)
	}
}
