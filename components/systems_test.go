package components_test

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	tokenContainer = "proxmoxve:CT/container:Container"
	sha512Sum      = "sha512:"
)

func sourceFixture(file string) components.ImageSource {
	return components.ImageSource{
		URL:      &url.URL{Scheme: "https", Host: "images.example", Path: "/20251117/" + file},
		Checksum: sha512Sum + strings.Repeat("ab", 64), File: file, Storage: "local",
	}
}

func systemFixture(name string, last byte) components.System {
	return components.System{
		Name: name, Host: "vmhost", VMID: 200 + int(last), Cores: 1, MemoryMiB: 1024, DiskGiB: 8, DiskStorage: "tank",
		NICs: []components.SystemNIC{{
			Bridge: "vmbr0", VLAN: 20, MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 1, last},
			Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 20, last}), 24), Gateway: netip.MustParseAddr("192.168.20.1"),
		}},
		Nameservers: []netip.Addr{netip.MustParseAddr("192.168.20.1")}, SearchDomain: "home.example",
		Keys: []string{"ssh-ed25519 AAAA operator \n"}, Tags: []string{"dns"},
		Startup: &components.Startup{Order: 1, UpDelaySeconds: 10},
	}
}

// systems makes a machine and a container with all that they can have.
func systems(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
	image, err := components.NewImageTemplate(ctx, "debian-13", &components.ImageTemplateArgs{
		API: apiFixture(), Host: "vmhost", VMID: 9100, Name: "debian-13", Source: sourceFixture("debian-13.qcow2"), DiskStorage: "tank",
	}, providers)
	if err != nil {
		return err
	}
	machine := &components.VirtualMachineArgs{
		System: systemFixture("files", 30), Template: image, User: "operator", Password: pulumi.String("made-up"),
		DataDisks: []components.SystemDisk{{SizeGiB: 32, Storage: "tank"}}, Pool: &components.Pool{Name: "home"},
	}
	machine.Protect = true
	if _, err := components.NewVirtualMachine(ctx, "files", machine, providers); err != nil {
		return err
	}
	if err := appliances(ctx, providers); err != nil {
		return err
	}
	template, err := components.NewContainerTemplate(ctx, "debian-12", &components.ContainerTemplateArgs{
		API: apiFixture(), Host: "vmhost", Source: sourceFixture("debian-12-standard.tar.zst"),
	}, providers)
	if err != nil {
		return err
	}
	_, err = components.NewContainer(ctx, "dns", &components.ContainerArgs{
		System: systemFixture("dns", 5), API: apiFixture(), Template: template, OSType: "debian", Nesting: true, Password: pulumi.String("made-up"),
	}, providers)
	return err
}

// appliances makes a machine with the ISO of its installer in its drive, and one that is installed.
func appliances(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
	iso, err := components.NewISO(ctx, "opnsense", &components.ISOArgs{API: apiFixture(), Host: "vmhost", Source: sourceFixture("opnsense-abab.iso")}, providers)
	if err != nil {
		return err
	}
	for name, drive := range map[string]*components.ISO{"firewall": iso, "nas": nil} {
		if _, err := components.NewVirtualMachine(ctx, name, applianceFixture(name, drive), providers); err != nil {
			return err
		}
	}
	return nil
}

func applianceFixture(name string, iso *components.ISO) *components.VirtualMachineArgs {
	system := systemFixture(name, 40)
	system.Keys, system.Nameservers, system.SearchDomain = nil, nil, ""
	system.NICs[0].Address, system.NICs[0].Gateway = netip.Prefix{}, netip.Addr{}
	return &components.VirtualMachineArgs{System: system, Blank: true, ISO: iso}
}

func TestInputsOfSystemsAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, systems)
	require.NoError(t, err)
	for _, one := range []struct{ kind, name string }{
		{tokenCommand, "debian-13"}, {tokenVM, "files-vm"}, {tokenCommand, "opnsense"}, {tokenVM, "firewall-vm"}, {tokenVM, "nas-vm"}, {tokenCommand, "debian-12"}, {tokenContainer, "dns-ct"}, {tokenCommand, "dns-root"},
	} {
		inputs, err := recorder.Inputs(r.Named(t, one.kind, one.name))
		require.NoError(t, err)
		require.NotContains(t, inputs, "made-up", "passwords and the token are secrets")
		golden.Equal(t, "testdata/inputs/system-"+one.name+".json", inputs)
	}
}

// TestASystemKeepsWhatItWasBornWith: another image, another key or another address of cloud-init never changes a system that is there, and its
// disk keeps the format of the image.
func TestASystemKeepsWhatItWasBornWith(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, systems)
	require.NoError(t, err)
	machine := r.Named(t, tokenVM, "files-vm").RegisterRPC
	require.Equal(t, []string{"clone", "initialization", "cdrom", "disks[0].fileFormat", "disks[0].speed", "disks[1].speed"}, machine.GetIgnoreChanges(), "an ISO from before it had an image stays in its drive")
	require.True(t, machine.GetDeleteBeforeReplace())
	require.True(t, machine.GetProtect())
	for _, name := range []string{"firewall-vm", "nas-vm"} {
		appliance := r.Named(t, tokenVM, name).RegisterRPC
		require.Equal(t, []string{"clone", "initialization", "machine", "cdrom.enabled", "disks[0].speed"}, appliance.GetIgnoreChanges(), "the ISO in its drive is not among them")
		require.True(t, appliance.GetDeleteBeforeReplace())
	}
	require.True(t, r.Named(t, tokenCommand, "opnsense").RegisterRPC.GetRetainOnDelete(), "a machine whose drive names it would not start again")
	container := r.Named(t, tokenContainer, "dns-ct").RegisterRPC
	require.Equal(t, []string{"operatingSystem.templateFileId", "initialization.userAccount", "disk.size"}, container.GetIgnoreChanges())
	require.False(t, container.GetProtect())
	root := r.Named(t, tokenCommand, "dns-root")
	require.Equal(t, root.Inputs["create"], root.Inputs["update"], "another size grows it in place")
	require.True(t, r.Named(t, tokenCommand, "debian-12").RegisterRPC.GetRetainOnDelete())
	require.False(t, r.Named(t, tokenCommand, "debian-13").RegisterRPC.GetRetainOnDelete())
}

func TestSystemsAreRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewVirtualMachine(ctx, "files", &components.VirtualMachineArgs{
			System: components.System{Name: "Files", Host: "vm_host", VMID: 1, NICs: []components.SystemNIC{{
				Bridge: "vmbr0", MAC: net.HardwareAddr{1, 0, 0, 0, 0, 1}, Gateway: netip.MustParseAddr("192.168.20.1"),
			}}},
			DataDisks: []components.SystemDisk{{}},
		}, providers)
		return err
	}), `virtual machine "files": Name: "Files" is not a DNS-1123 label: use a-z, 0-9 and -, at most 63 characters
Host: "vm_host" is not valid in Proxmox VE (a host's name: letters, digits and -, at most 63 characters): choose another name
VMID: 1 is not between 100 and 999999999: choose a free number in that range
Cores: 0 is not between 1 and 2304: give the number of cores
MemoryMiB: 0 is not between 1 and 268435456: give the memory in MiB
DiskGiB: 0 is not 1 or more: give the size in GiB
DiskStorage: name the storage of its disk
NICs[0].MAC: 01:00:00:00:00:01 is a multicast address: choose one whose first byte is even
NICs[0].Gateway: a card with DHCP gets its gateway from there: leave it out
Template: give the template that it is cloned from, or set Blank
DataDisks[0].SizeGiB: 0 is not 1 or more: give the size in GiB
DataDisks[0].Storage: name the storage`)

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		system := systemFixture("dns", 5)
		system.DiskGiB, system.Cores = 2, 129
		for range 8 {
			system.NICs = append(system.NICs, system.NICs[0])
		}
		_, err := components.NewContainer(ctx, "dns", &components.ContainerArgs{System: system, OSType: "debain", SwapMiB: -1}, providers)
		return err
	}), `container "dns": Cores: 129 is not between 1 and 128: give the number of cores
NICs: 9 are more than a system can have: give at most 8
API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token
DiskGiB: 2 is smaller than the root of a new container: give at least 4
Template: give the template that it is created from
OSType: "debain" is unknown: use one of alpine, archlinux, centos, debian, devuan, fedora, gentoo, nixos, opensuse, ubuntu, unmanaged
SwapMiB: -1 is not between 0 and 268435456: give the swap in MiB, 0 for none`)

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewImageTemplate(ctx, "debian", &components.ImageTemplateArgs{
			API: apiFixture(), Host: "vmhost", VMID: 9100, Name: "debian", DiskStorage: "tank",
			Source: components.ImageSource{URL: &url.URL{Scheme: "ftp", Host: "x"}, Checksum: "md5:1", File: "debian.img", Storage: "local"},
		}, providers)
		return err
	}), `image template "debian": Source.URL: give a URL with http or https
Source.Checksum: "md5:1" is no checksum: give sha256: or sha512: and the digits of the file's checksum in lower case
Source.File: "debian.img" is no name that Proxmox VE takes: give one that ends with .qcow2 or .raw`)

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewContainerTemplate(ctx, "debian", &components.ContainerTemplateArgs{}, providers)
		return err
	}), `container template "debian": API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token
Host: name the Proxmox VE node
Source.URL: give a URL with http or https
Source.Checksum: "" is no checksum: give sha256: or sha512: and the digits of the file's checksum in lower case
Source.File: "" is no name that Proxmox VE takes: give one that ends with .tar.gz, .tar.xz, .tar.zst or .tar.bz2
Source.Storage: name the storage that receives it`)
}

// TestWhatDoesNotFitToWhereASystemComesFrom: cloud-init writes into clones only, and only a blank machine boots an ISO.
func TestWhatDoesNotFitToWhereASystemComesFrom(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		alter func(*components.VirtualMachineArgs, *components.ISO, *components.ImageTemplate)
		want  string
	}{
		"all that cloud-init writes": {func(a *components.VirtualMachineArgs, _ *components.ISO, _ *components.ImageTemplate) {
			a.System, a.User, a.Password = systemFixture("firewall", 40), "root", pulumi.String("made-up")
		}, `User: a blank machine has no cloud-init: leave it out
Password: a blank machine has no cloud-init: leave it out
Keys: a blank machine has no cloud-init: leave it out
Nameservers: a blank machine has no cloud-init: leave it out
SearchDomain: a blank machine has no cloud-init: leave it out
NICs[0].Address: a blank machine has no cloud-init: leave it out`},
		"a template, too": {func(a *components.VirtualMachineArgs, _ *components.ISO, image *components.ImageTemplate) {
			a.Template = image
		}, "Template: a blank machine is cloned from none: leave it out"},
		"an ISO on another host": {func(a *components.VirtualMachineArgs, _ *components.ISO, _ *components.ImageTemplate) {
			a.Host = "other"
		}, "ISO: is on another host: download one to the machine's own"},
		"an ISO of a clone": {func(a *components.VirtualMachineArgs, _ *components.ISO, image *components.ImageTemplate) {
			a.Blank, a.Template = false, image
		}, "ISO: a machine from a template needs no ISO: leave it out, or set Blank"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
				iso, err := components.NewISO(ctx, "opnsense", &components.ISOArgs{API: apiFixture(), Host: "vmhost", Source: sourceFixture("opnsense.iso")}, providers)
				if err != nil {
					return err
				}
				image, err := components.NewImageTemplate(ctx, "debian-13", &components.ImageTemplateArgs{
					API: apiFixture(), Host: "vmhost", VMID: 9100, Name: "debian-13", Source: sourceFixture("debian-13.qcow2"), DiskStorage: "tank",
				}, providers)
				if err != nil {
					return err
				}
				args := applianceFixture("firewall", iso)
				test.alter(args, iso, image)
				_, err = components.NewVirtualMachine(ctx, "firewall", args, providers)
				return err
			}), `virtual machine "firewall": `+test.want)
		})
	}

	require.EqualError(t, refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		_, err := components.NewISO(ctx, "opnsense", &components.ISOArgs{API: apiFixture(), Source: sourceFixture("opnsense.iso.bz2")}, providers)
		return err
	}), `ISO "opnsense": Host: name the Proxmox VE node
Source.File: "opnsense.iso.bz2" is no name that Proxmox VE takes: give one that ends with .iso`)
}
