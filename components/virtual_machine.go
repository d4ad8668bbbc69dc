package components

import (
	"cmp"
	"net/netip"
	"strings"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// The hardware that template and clones share. q35 is needed for PCIe passthrough and, with this provider, comes from the
// template alone: the machine type is not applied to a clone.
const (
	machineType = "q35"
	firmware    = "ovmf"
	osType      = "l26"
	// The display is Proxmox VE's default. It is set explicitly, since one build of the provider fills it in and another does
	// not (docs/decisions/0041).
	displayType      = "std"
	displayMemoryMiB = 16
)

// bootOrder tries the disk first: while it is blank, the firmware goes on to the ISO.
var bootOrder = []string{hardware.SystemDrive, hardware.ISODrive}

func templateVM(a TalosTemplateArgs, iso pulumi.StringInput) *vm.VirtualMachineArgs {
	args := &vm.VirtualMachineArgs{
		NodeName:        pulumi.String(a.Host),
		VmId:            pulumi.Int(a.VMID),
		Name:            pulumi.String(a.Name),
		Description:     a.Ownership.describe("Talos "+a.TalosVersion, " Nodes are cloned from it."),
		Template:        pulumi.Bool(true),
		Started:         pulumi.Bool(false),
		OnBoot:          pulumi.Bool(false),
		Machine:         pulumi.String(machineType),
		Bios:            pulumi.String(firmware),
		EfiDisk:         efiDisk(a.DiskStorage),
		Cpu:             vm.VirtualMachineCpuArgs{Cores: pulumi.Int(1), Sockets: pulumi.Int(1), Type: pulumi.String(hardware.CPUType)},
		Memory:          memory(hardware.TemplateMemoryMiB),
		ScsiHardware:    pulumi.String(string(a.SCSIController)),
		Disks:           vm.VirtualMachineDiskArray{a.SCSIController.disk(hardware.SystemDisk, a.DiskStorage, hardware.TemplateDiskGiB)},
		Cdrom:           cdrom(iso),
		BootOrders:      pulumi.ToStringArray(bootOrder),
		NetworkDevices:  vm.VirtualMachineNetworkDeviceArray{vm.VirtualMachineNetworkDeviceArgs{Bridge: pulumi.String(a.Bridge)}},
		OperatingSystem: vm.VirtualMachineOperatingSystemArgs{Type: pulumi.String(osType)},
		Agent:           vm.VirtualMachineAgentArgs{Enabled: pulumi.Bool(false)},
		Vga:             display(),
		PoolId:          optional(a.Pool.name()),
		Tags:            pulumi.ToStringArray(a.Tags),
	}
	if a.TPM {
		args.TpmState = vm.VirtualMachineTpmStateArgs{DatastoreId: pulumi.String(a.DiskStorage), Version: pulumi.String("v2.0")}
	}
	return args
}

func nodeVM(m Machine, n NodeNetwork, pool *Pool, template *TalosTemplate, owner *Ownership, birth string) *vm.VirtualMachineArgs {
	args := &vm.VirtualMachineArgs{
		NodeName:    pulumi.String(m.Host),
		VmId:        pulumi.Int(m.VMID),
		Name:        pulumi.String(m.Name),
		Description: owner.describe("Talos "+string(m.Role), ""),
		// The VMID is a plain number: as an output of the template it would replace every clone with it (F3).
		Clone: vm.VirtualMachineCloneArgs{
			VmId:        pulumi.Int(template.vmid),
			NodeName:    pulumi.String(template.host),
			DatastoreId: pulumi.String(m.DiskStorage),
			Full:        pulumi.Bool(true),
			Retries:     pulumi.Int(cloneRetries),
		},
		Migrate:         pulumi.Bool(true), // without it, a change of the host would delete the machine and create it again (F23)
		Started:         pulumi.Bool(true),
		OnBoot:          pulumi.Bool(!m.OffAtBoot),
		StopOnDestroy:   pulumi.Bool(true), // a Talos node without a cluster does not answer a shutdown (F24)
		Bios:            pulumi.String(firmware),
		Cpu:             vm.VirtualMachineCpuArgs{Cores: pulumi.Int(m.Cores), Sockets: pulumi.Int(m.Sockets), Type: pulumi.String(m.CPUType)},
		Memory:          memory(m.MemoryMiB),
		ScsiHardware:    pulumi.String(string(template.scsi)),
		Disks:           disks(m, template.scsi),
		Cdrom:           cdrom(template.ISO),
		BootOrders:      pulumi.ToStringArray(bootOrder),
		NetworkDevices:  networkDevices(m, n),
		Hostpcis:        passedThrough(m.GPUs),
		Initialization:  initialization(m, n),
		OperatingSystem: vm.VirtualMachineOperatingSystemArgs{Type: pulumi.String(osType)},
		Agent:           agent(template.schematic),
		Vga:             display(),
		Smbios:          smbios(birth),
		PoolId:          optional(pool.name()),
		Tags:            pulumi.ToStringArray(m.Tags),
	}
	if m.Startup != nil {
		args.Startup = vm.VirtualMachineStartupArgs{
			Order:     pulumi.Int(m.Startup.Order),
			UpDelay:   pulumi.Int(m.Startup.UpDelaySeconds),
			DownDelay: pulumi.Int(cmp.Or(m.Startup.DownDelaySeconds, hostsOwnDelay)),
		}
	}
	return args
}

// hostsOwnDelay makes the host use its own time for a shutdown, 180 s. With a delay of 0 it would cut the power at once
// (PVE/API2/Nodes.pm, stopall).
const hostsOwnDelay = -1

// cloneRetries: clones that allocate on one storage wait for its lock in turn, and fail after 10 s (F18).
const cloneRetries = 3

func efiDisk(storage string) vm.VirtualMachineEfiDiskArgs {
	return vm.VirtualMachineEfiDiskArgs{
		DatastoreId:     pulumi.String(storage),
		FileFormat:      pulumi.String("raw"),
		Type:            pulumi.String("4m"),
		PreEnrolledKeys: pulumi.Bool(false), // the ISO is not signed with Microsoft's keys
	}
}

// cdrom is set for clones too, although they inherit the template's drive: without it the provider would attach the host's
// physical drive, which needs Sys.Console on the whole host (qemu-server, API2/Qemu.pm).
func cdrom(iso pulumi.StringInput) vm.VirtualMachineCdromArgs {
	return vm.VirtualMachineCdromArgs{
		Enabled:   pulumi.Bool(true),
		Interface: pulumi.String(hardware.ISODrive),
		FileId:    pulumi.StringPtrInput(iso.ToStringOutput().ToStringPtrOutput()),
	}
}

// agent switches the guest agent on if the image has one. The provider does not wait for it, since the address of a node is
// known (F10, F11): with the provider's default, each creation and each refresh takes fifteen minutes if the agent does not
// answer; with a limit of 0 s the provider does not query it (bpg v0.69.1, proxmox/nodes/vms/vms.go,
// WaitForNetworkInterfacesFromVMAgent). The limit is also set where the agent is off, in case it was switched on by hand.
func agent(s Schematic) vm.VirtualMachineAgentArgs {
	return vm.VirtualMachineAgentArgs{Enabled: pulumi.Bool(s.hasGuestAgent()), Timeout: pulumi.String("0s")}
}

// memory sets no balloon: the guest must have the memory that the kubelet reports, and passthrough requires it.
func memory(mib int) vm.VirtualMachineMemoryArgs {
	return vm.VirtualMachineMemoryArgs{Dedicated: pulumi.Int(mib), Floating: pulumi.Int(0)}
}

func display() vm.VirtualMachineVgaArgs {
	return vm.VirtualMachineVgaArgs{Type: pulumi.String(displayType), Memory: pulumi.Int(displayMemoryMiB), Clipboard: pulumi.String("")}
}

func networkDevices(m Machine, n NodeNetwork) vm.VirtualMachineNetworkDeviceArray {
	array := vm.VirtualMachineNetworkDeviceArray{networkDevice(NIC{MAC: m.MAC, Bridge: n.Bridge, VLAN: n.VLAN, MTU: n.MTU})}
	for _, nic := range m.NICs {
		array = append(array, networkDevice(nic))
	}
	return array
}

func networkDevice(nic NIC) vm.VirtualMachineNetworkDeviceArgs {
	return vm.VirtualMachineNetworkDeviceArgs{
		Bridge:     pulumi.String(nic.Bridge),
		MacAddress: pulumi.String(strings.ToUpper(nic.MAC.String())),
		Model:      pulumi.String("virtio"),
		VlanId:     pulumi.Int(nic.VLAN),
		Mtu:        pulumi.Int(nic.MTU),
		Firewall:   pulumi.Bool(false),
	}
}

// passedThrough returns the devices of the machine. They are PCI Express devices, which requires q35 (F14); the display stays
// the emulated one, so that the console in Proxmox VE works.
func passedThrough(gpus []GPU) vm.VirtualMachineHostpciArray {
	var array vm.VirtualMachineHostpciArray
	for i, gpu := range gpus {
		array = append(array, vm.VirtualMachineHostpciArgs{
			Device:  pulumi.String(hardware.PCISlot(i)),
			Mapping: pulumi.String(gpu.Mapping),
			Pcie:    pulumi.Bool(true),
			Rombar:  pulumi.Bool(true),
			Xvga:    pulumi.Bool(false),
		})
	}
	return array
}

// initialization returns the cloud-init drive, which contains the address for the first boot, or selects DHCP.
func initialization(m Machine, n NodeNetwork) vm.VirtualMachineInitializationArgs {
	servers := make(pulumi.StringArray, len(n.Nameservers))
	for i, server := range n.Nameservers {
		servers[i] = pulumi.String(server.String())
	}
	return vm.VirtualMachineInitializationArgs{
		Type:        pulumi.String("nocloud"),
		DatastoreId: pulumi.String(m.DiskStorage),
		Interface:   pulumi.String(hardware.SeedDrive),
		IpConfigs:   vm.VirtualMachineInitializationIpConfigArray{ipConfig(m, n)},
		Dns:         vm.VirtualMachineInitializationDnsArgs{Servers: servers},
	}
}

func ipConfig(m Machine, n NodeNetwork) vm.VirtualMachineInitializationIpConfigArgs {
	config := vm.VirtualMachineInitializationIpConfigArgs{}
	for _, prefix := range m.Addresses {
		address, gateway := optional(prefix.String()), n.gatewayFor(prefix.Addr())
		if n.Addressing == AddressingDHCP {
			address, gateway = optional("dhcp"), nil
		}
		if prefix.Addr().Is4() {
			config.Ipv4 = vm.VirtualMachineInitializationIpConfigIpv4Args{Address: address, Gateway: gateway}
		} else {
			config.Ipv6 = vm.VirtualMachineInitializationIpConfigIpv6Args{Address: address, Gateway: gateway}
		}
	}
	return config
}

// gatewayFor returns the default route for the family of an address, if there is one.
func (n NodeNetwork) gatewayFor(address netip.Addr) pulumi.StringPtrInput {
	for _, gateway := range n.Gateways {
		if gateway.Is4() == address.Is4() {
			return pulumi.String(gateway.String())
		}
	}
	return nil
}

// optional omits an empty property.
func optional(text string) pulumi.StringPtrInput {
	if text == "" {
		return nil
	}
	return pulumi.String(text)
}
