package stacks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/stacks"
)

// TestAStackOfSystems: the sample gives a template of the image, a machine and a container, and no provider but those of the host.
func TestAStackOfSystems(t *testing.T) {
	t.Parallel()
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: filepath.Join("stacks", "site-systems")}, reachable(nil))
	require.NoError(t, err)
	image := r.Named(t, "command:local:Command", "site-systems-image-9100")
	require.Contains(t, image.Inputs["create"].StringValue(), " image template vmhost 9100 debian-13 local-lvm local:import/debian-13-9100.qcow2")
	template := r.Named(t, "command:local:Command", "site-systems-template-debian-13-vmhost")
	require.Contains(t, template.Inputs["create"].StringValue(), " image ensure vmhost local:vztmpl/debian-13-5aec4ab2ac5c16c7.tar.zst")

	machine := r.Named(t, "proxmoxve:VM/virtualMachine:VirtualMachine", "site-systems-tools-vm").Inputs
	require.Equal(t, "tools", machine["name"].StringValue())
	require.InDelta(t, 9100, machine["clone"].ObjectValue()["vmId"].NumberValue(), 0)
	require.Equal(t, "192.168.20.30/24", machine["initialization"].ObjectValue()["ipConfigs"].ArrayValue()[0].ObjectValue()["ipv4"].ObjectValue()["address"].StringValue())

	container := r.Named(t, "proxmoxve:CT/container:Container", "site-systems-pihole-ct").Inputs
	require.Equal(t, "pihole", container["initialization"].ObjectValue()["hostname"].StringValue())
	require.Equal(t, "local:vztmpl/debian-13-5aec4ab2ac5c16c7.tar.zst", container["operatingSystem"].ObjectValue()["templateFileId"].StringValue())
	require.True(t, container["features"].ObjectValue()["nesting"].BoolValue())
	require.Len(t, container["tags"].ArrayValue(), 2)
	require.Contains(t, r.Named(t, "command:local:Command", "site-systems-pihole-root").Inputs["create"].StringValue(), " container grow vmhost 211 8")
	for key := range r.Resources {
		require.NotContains(t, key, "talos")
	}
}

// TestEveryKeyOfSystemsReachesTheHost: what the inventory says of pools, hosts, keys, disks and order is in the inputs.
func TestEveryKeyOfSystemsReachesTheHost(t *testing.T) {
	t.Parallel()
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: filepath.Join("internal", "inventory", "systems", "testdata", "valid-every-key")}, reachable(nil))
	require.NoError(t, err)
	for key, args := range r.Resources {
		require.True(t, args.RegisterRPC.GetProtect(), key)
	}
	for _, pool := range []string{"home", "storage"} {
		require.Contains(t, r.Named(t, "command:local:Command", "home-pool-"+pool).Inputs["create"].StringValue(), " pool ensure "+pool)
	}
	machine := r.Named(t, "proxmoxve:VM/virtualMachine:VirtualMachine", "home-files-vm").Inputs
	require.Equal(t, "vmhost-2", machine["nodeName"].StringValue())
	require.Equal(t, "storage", machine["poolId"].StringValue())
	require.Len(t, machine["disks"].ArrayValue(), 3)
	require.Len(t, machine["networkDevices"].ArrayValue(), 3)
	require.False(t, machine["onBoot"].BoolValue())
	require.True(t, machine["protection"].BoolValue())
	account := machine["initialization"].ObjectValue()["userAccount"].ObjectValue()
	require.Equal(t, "ops", account["username"].StringValue())
	require.Len(t, account["keys"].ArrayValue(), 2, "the keys of all systems, and its own")
	container := r.Named(t, "proxmoxve:CT/container:Container", "home-pihole-ct").Inputs
	require.InDelta(t, 512, container["memory"].ObjectValue()["swap"].NumberValue(), 0)
	require.NotContains(t, container, "features")
	require.InDelta(t, 1, container["startup"].ObjectValue()["order"].NumberValue(), 0)
}

// TestAppliances: a machine from an ISO begins with a blank disk, has nothing of cloud-init, and boots the disc in its drive until that is
// ejected. Only hosts of such a drive download the ISO.
func TestAppliances(t *testing.T) {
	t.Parallel()
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: filepath.Join("internal", "inventory", "systems", "testdata", "valid-appliances")}, reachable(nil))
	require.NoError(t, err)
	iso := r.Named(t, "command:local:Command", "home-iso-opnsense-vmhost").Inputs
	require.Contains(t, iso["create"].StringValue(), " image ensure vmhost local:iso/opnsense-abababababababab.iso")
	require.Equal(t, "https://images.example/OPNsense-25.1-dvd-amd64.iso.bz2", iso["environment"].ObjectValue()["EM_INFRA_IMAGE_URL"].StringValue())

	const machineToken = "proxmoxve:VM/virtualMachine:VirtualMachine"
	for name, drive := range map[string]string{"firewall": "local:iso/opnsense-abababababababab.iso", "nas": "none"} {
		machine := r.Named(t, machineToken, "home-"+name+"-vm").Inputs
		require.Equal(t, drive, machine["cdrom"].ObjectValue()["fileId"].StringValue())
		require.Equal(t, "scsi0", machine["bootOrders"].ArrayValue()[0].StringValue(), "an installed disk is booted before the ISO")
		require.NotContains(t, machine, "clone")
		require.NotContains(t, machine, "initialization", "neither the SSH keys nor the name servers of the file")
	}
	require.Equal(t, "q35", r.Named(t, machineToken, "home-firewall-vm").Inputs["machine"].StringValue())
	tools := r.Named(t, machineToken, "home-tools-vm").Inputs
	require.Len(t, tools["initialization"].ObjectValue()["userAccount"].ObjectValue()["keys"].ArrayValue(), 1)
	for key := range r.Resources {
		require.NotContains(t, key, "iso-truenas", "nothing has it in its drive")
	}
}

func TestTheProgramRefusesAnInventoryOfSystemsInTheWordsOfTheLoader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "systems.yaml"), []byte("kind: Systems\n"), 0o600))
	_, loading := systems.Load(dir)
	require.Error(t, loading)
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: dir}, reachable(nil))
	require.EqualError(t, err, "1 error occurred:\n\t* "+loading.Error()+"\n\n") // the SDK's own frame
	require.Empty(t, r.Resources)
}
