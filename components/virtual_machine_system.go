package components

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve/vm"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve/hardware"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// VirtualMachine is a machine that is no node of a cluster: cloned from a template with the disk image of its system, or begun with blank disks
// and installed from an ISO by hand.
type VirtualMachine struct {
	pulumi.ResourceState

	// VM is the machine itself, for settings that this component does not cover.
	VM *vm.VirtualMachine
}

// VirtualMachineArgs describe a machine.
type VirtualMachineArgs struct {
	System

	// Template that it is cloned from, on its host. Required unless Blank. A change changes nothing: a machine keeps its system.
	Template *ImageTemplate
	// Blank begins it with blank disks and without cloud-init, for a system that its own installer configures. Default: false. A change changes
	// nothing: a machine keeps its system.
	Blank bool
	// ISO in the drive of a Blank machine, which boots it while its disk is blank. Default: nil, the drive is empty. A change is made in place,
	// while it runs.
	ISO *ISO
	// CPUType that the machine sees. Default: x86-64-v2-AES. A change reboots it.
	CPUType string
	// User that cloud-init creates. Default: that of the image. Written once: a change is ignored.
	User string
	// Password of the user. Default: nil, none. Secret. Written once: a change is ignored.
	Password pulumi.StringInput
	// DataDisks are further disks, blank at first. Default: none. A change appends or grows some while it runs; the provider removes none.
	DataDisks []SystemDisk
	// Pool of Proxmox VE that it belongs to. Default: nil, none. A change is made in place.
	Pool *Pool
}

// SystemDisk is a further disk of a machine.
type SystemDisk struct {
	// SizeGiB is its size in GiB. Required. A change grows it; it cannot shrink.
	SizeGiB int
	// Storage that holds it. Required. A change stops the machine, moves the disk and starts it again.
	Storage string
}

// NewVirtualMachine creates a machine. Nothing waits for an agent or for an address: the image has no agent, and the address is known. It
// returns an error that lists every invalid argument.
func NewVirtualMachine(ctx *pulumi.Context, name string, args *VirtualMachineArgs, opts ...pulumi.ResourceOption) (*VirtualMachine, error) {
	if err := args.validate(); err != nil {
		return nil, fmt.Errorf("virtual machine %q: %w", name, err)
	}
	m := &VirtualMachine{}
	inputs := pulumi.Map{"host": pulumi.String(args.Host), "vmid": pulumi.Int(args.VMID)}
	if err := ctx.RegisterComponentResourceV2(typeVirtualMachine, name, inputs, m, append(opts, protectedSystem(args.Protect))...); err != nil {
		return nil, err
	}
	policy := clonedSystem(1 + len(args.DataDisks))
	if args.Blank {
		policy = blankSystem(1 + len(args.DataDisks))
	}
	var err error
	m.VM, err = vm.NewVirtualMachine(ctx, name+"-vm", systemVM(ctx.Stack(), args), pulumi.Parent(m), pulumi.DependsOn(args.makers()), policy)
	if err != nil {
		return nil, err
	}
	return m, ctx.RegisterResourceOutputs(m, pulumi.Map{"vmid": pulumi.Int(args.VMID)})
}

// makers are the resources that a machine is made after.
func (args *VirtualMachineArgs) makers() []pulumi.Resource {
	var before []pulumi.Resource
	if args.Template != nil {
		before = append(before, args.Template.Resource)
	}
	if args.ISO != nil {
		before = append(before, args.ISO.Resource)
	}
	return append(before, args.Pool.makers()...)
}

// protectedSystem protects a system on its own, if it is set; otherwise the stack's protection is inherited.
func protectedSystem(protect bool) pulumi.ResourceOption {
	if !protect {
		return pulumi.Composite()
	}
	return pulumi.Protect(true)
}

// clonedSystem: a system keeps the image that it was created from, and cloud-init has done its work at the first boot, so changes of both are
// ignored. A VMID, an address and a disk cannot exist twice, so a replacement deletes the old machine first.
//
// On a storage of files, Proxmox VE keeps the format of an image that it imports and clones (qemu-server, API2/Qemu.pm, create_disks), which
// the provider reads back and never converts (bpg/terraform-provider-proxmox v0.73.0, disk.go, Update): that of the first disk is ignored.
func clonedSystem(disks int) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"clone", "initialization", "cdrom", "disks[0].fileFormat"}, speedLimits(disks)...)),
		pulumi.DeleteBeforeReplace(true),
	)
}

// blankSystem: a change of the ISO in the drive is made in place. A change of the origin of the system never affects an existing machine, so the
// properties of a clone and of its cloud-init drive are ignored. The provider reads every drive back as not enabled (F22).
func blankSystem(disks int) pulumi.ResourceOption {
	return pulumi.Composite(
		pulumi.IgnoreChanges(append([]string{"clone", "initialization", "machine", "cdrom.enabled"}, speedLimits(disks)...)),
		pulumi.DeleteBeforeReplace(true),
	)
}

func systemVM(stack string, a *VirtualMachineArgs) *vm.VirtualMachineArgs {
	cpu := a.CPUType
	if cpu == "" {
		cpu = hardware.CPUType
	}
	args := &vm.VirtualMachineArgs{
		NodeName:        pulumi.String(a.Host),
		VmId:            pulumi.Int(a.VMID),
		Name:            pulumi.String(a.Name),
		Description:     pulumi.String(ownership.SystemMark(stack)),
		Migrate:         pulumi.Bool(true), // without it, a change of the host would delete the machine and create it again (F23)
		Started:         pulumi.Bool(true),
		OnBoot:          pulumi.Bool(!a.OffAtBoot),
		Protection:      pulumi.Bool(a.Protect),
		StopOnDestroy:   pulumi.Bool(true), // a guest that ignores its button would hold a destroy up for half an hour
		Cpu:             vm.VirtualMachineCpuArgs{Cores: pulumi.Int(a.Cores), Sockets: pulumi.Int(1), Type: pulumi.String(cpu)},
		Memory:          memory(a.MemoryMiB),
		ScsiHardware:    pulumi.String(string(SCSIVirtIOSingle)),
		Disks:           systemDisks(a),
		BootOrders:      pulumi.ToStringArray(bootOrder), // Proxmox VE itself appends a drive for CDs that a clone gets (qemu-server, API2/Qemu.pm)
		NetworkDevices:  systemNICs(a.NICs),
		SerialDevices:   vm.VirtualMachineSerialDeviceArray{vm.VirtualMachineSerialDeviceArgs{Device: pulumi.String("socket")}},
		OperatingSystem: vm.VirtualMachineOperatingSystemArgs{Type: pulumi.String(osType)},
		Agent:           vm.VirtualMachineAgentArgs{Enabled: pulumi.Bool(false), Timeout: pulumi.String("0s")},
		Vga:             display(),
		PoolId:          optional(a.Pool.name()),
		Tags:            pulumi.ToStringArray(a.Tags),
	}
	if a.Startup != nil {
		order, up, down := startupOf(a.Startup)
		args.Startup = vm.VirtualMachineStartupArgs{Order: pulumi.Int(order), UpDelay: pulumi.Int(up), DownDelay: pulumi.Int(down)}
	}
	if a.Blank {
		args.Machine, args.Cdrom = pulumi.String(machineType), cdrom(a.ISO.volume())
	} else {
		args.Clone, args.Cdrom, args.Initialization = systemClone(a), cdrom(pulumi.String(noISO)), systemInitialization(a)
	}
	return args
}

// systemClone: the VMID is a plain number: as an output of the template it would replace every clone with it (F3).
func systemClone(a *VirtualMachineArgs) vm.VirtualMachineCloneArgs {
	return vm.VirtualMachineCloneArgs{
		VmId: pulumi.Int(a.Template.vmid), NodeName: pulumi.String(a.Template.host), DatastoreId: pulumi.String(a.DiskStorage),
		Full: pulumi.Bool(true), Retries: pulumi.Int(cloneRetries),
	}
}

func systemDisks(a *VirtualMachineArgs) vm.VirtualMachineDiskArray {
	array := vm.VirtualMachineDiskArray{SCSIVirtIOSingle.disk(hardware.SystemDisk, a.DiskStorage, a.DiskGiB)}
	for i, disk := range a.DataDisks {
		array = append(array, SCSIVirtIOSingle.disk(i+1, disk.Storage, disk.SizeGiB))
	}
	return array
}

func systemNICs(cards []SystemNIC) vm.VirtualMachineNetworkDeviceArray {
	var array vm.VirtualMachineNetworkDeviceArray
	for _, card := range cards {
		array = append(array, networkDevice(NIC{MAC: card.MAC, Bridge: card.Bridge, VLAN: card.VLAN}))
	}
	return array
}

// systemInitialization returns the cloud-init drive. It contains what the native settings of Proxmox VE can express, since user data would need
// SSH. An existing machine keeps its drive in the slot where it is.
func systemInitialization(a *VirtualMachineArgs) vm.VirtualMachineInitializationArgs {
	servers := make(pulumi.StringArray, len(a.Nameservers))
	for i, server := range a.Nameservers {
		servers[i] = pulumi.String(server.String())
	}
	var addresses vm.VirtualMachineInitializationIpConfigArray
	for _, card := range a.NICs {
		address, gateway := card.address()
		config := vm.VirtualMachineInitializationIpConfigArgs{}
		if card.isIPv6() {
			config.Ipv6 = vm.VirtualMachineInitializationIpConfigIpv6Args{Address: pulumi.String(address), Gateway: optional(gateway)}
		} else {
			config.Ipv4 = vm.VirtualMachineInitializationIpConfigIpv4Args{Address: pulumi.String(address), Gateway: optional(gateway)}
		}
		addresses = append(addresses, config)
	}
	args := vm.VirtualMachineInitializationArgs{
		Type: pulumi.String("nocloud"), DatastoreId: pulumi.String(a.DiskStorage), Interface: pulumi.String(hardware.SystemSeedDrive),
		IpConfigs: addresses,
		Dns:       vm.VirtualMachineInitializationDnsArgs{Servers: servers, Domain: optional(a.SearchDomain)},
	}
	if account := a.account(); account != nil {
		args.UserAccount = account
	}
	return args
}

// account returns the user, or nil if no argument describes it.
func (args *VirtualMachineArgs) account() vm.VirtualMachineInitializationUserAccountPtrInput {
	if args.User == "" && args.Password == nil && len(args.Keys) == 0 {
		return nil
	}
	account := vm.VirtualMachineInitializationUserAccountArgs{Username: optional(args.User), Keys: pulumi.ToStringArray(trimmed(args.Keys))}
	if args.Password != nil {
		account.Password = pulumi.ToSecret(args.Password).(pulumi.StringOutput)
	}
	return account
}

// trimmed returns keys without white space around them, as the provider reads them back.
func trimmed(keys []string) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = strings.TrimSpace(key)
	}
	return list
}

func (args *VirtualMachineArgs) validate() error {
	if args == nil {
		return errors.New("args: give VirtualMachineArgs")
	}
	problems := []error{
		args.System.validate(limits.Cores, hardware.MaxNICs),
		require(args.Template != nil || args.Blank, "Template", "give the template that it is cloned from, or set Blank"),
		require(args.Template == nil || args.Template.host == args.Host, "Template", "is on another host: make one on the machine's own"),
		require(len(args.DataDisks) <= hardware.MaxDataDisks, "DataDisks", fmt.Sprintf("%d are more than a machine can have: give at most %d", len(args.DataDisks), hardware.MaxDataDisks)),
	}
	for i, disk := range args.DataDisks {
		at := fmt.Sprintf("DataDisks[%d]", i)
		problems = append(problems,
			requireWithin(limits.DiskGiB, disk.SizeGiB, at+".SizeGiB", "give the size in GiB"),
			require(disk.Storage != "", at+".Storage", "name the storage"),
			requireName(limits.Storage, disk.Storage, at+".Storage"))
	}
	return errors.Join(append(problems, args.validateOrigin())...)
}

// validateOrigin refuses arguments that do not fit the origin of the system.
func (args *VirtualMachineArgs) validateOrigin() error {
	if !args.Blank {
		return require(args.ISO == nil, "ISO", "a machine from a template needs no ISO: leave it out, or set Blank")
	}
	const noCloudInit = "a blank machine has no cloud-init: leave it out"
	problems := []error{
		require(args.Template == nil, "Template", "a blank machine is cloned from none: leave it out"),
		require(args.ISO == nil || args.ISO.host == args.Host, "ISO", "is on another host: download one to the machine's own"),
		require(args.User == "", "User", noCloudInit),
		require(args.Password == nil, "Password", noCloudInit),
		require(len(args.Keys) == 0, "Keys", noCloudInit),
		require(len(args.Nameservers) == 0, "Nameservers", noCloudInit),
		require(args.SearchDomain == "", "SearchDomain", noCloudInit),
	}
	for i, card := range args.NICs {
		problems = append(problems, require(!card.Address.IsValid(), fmt.Sprintf("NICs[%d].Address", i), noCloudInit))
	}
	return errors.Join(problems...)
}
