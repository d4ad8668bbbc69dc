package settings

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Privileges that are required for settings of a VM (qemu-server API2/Qemu.pm: cpuoptions, memoryoptions, hwtypeoptions,
// generaloptions, diskoptions, cloudinitoptions).
var settingPrivileges = map[string][]string{
	"VM.Config.CPU":    {"cores", "cpu", "runningcpu", "cpulimit", "cpuunits", "numa", "smp", "sockets", "vcpus"},
	"VM.Config.Memory": {"memory", "balloon", "shares", "allow-ksm"},
	"VM.Config.HWType": {
		"acpi", "hotplug", "kvm", "machine", "runningmachine", "scsihw", "smbios1", "tablet", "vga", "watchdog",
		"audio0", "rng0",
	},
	"VM.Config.Options": {
		"agent", "autostart", "bios", "description", "keyboard", "localtime", "migrate_downtime", "migrate_speed",
		"name", "onboot", "ostype", "protection", "reboot", "startdate", "startup", "tdf", "template",
	},
	"VM.PowerMgmt":   {"freeze"},
	"VM.Config.Disk": {"boot", "bootdisk", "vmstatestorage"},
}

var cloudInitSettings = []string{
	"cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys",
}

var (
	ipconfigKey = regexp.MustCompile(`^ipconfig\d+$`)
	numaKey     = regexp.MustCompile(`^numa\d+$`)
	serialKey   = regexp.MustCompile(`^serial\d+$`)
	usbKey      = regexp.MustCompile(`^usb\d+$`)
	hostpciKey  = regexp.MustCompile(`^hostpci\d+$`)
	unusedKey   = regexp.MustCompile(`^unused\d+$`)
	virtiofsKey = regexp.MustCompile(`^virtiofs\d$`)
)

// IsIPConfig reports whether a setting is the cloud-init addressing of a network card.
func IsIPConfig(key string) bool { return ipconfigKey.MatchString(key) }

// IsSerial reports whether a setting is a serial port.
func IsSerial(key string) bool { return serialKey.MatchString(key) }

// IsUSB reports whether a setting is a USB device.
func IsUSB(key string) bool { return usbKey.MatchString(key) }

// IsPCI reports whether a setting is a passed-through PCI device.
func IsPCI(key string) bool { return hostpciKey.MatchString(key) }

// IsUnused reports whether a setting is a volume that no drive uses.
func IsUnused(key string) bool { return unusedKey.MatchString(key) }

// IsCloudInit reports whether a setting belongs to cloud-init, except addresses.
func IsCloudInit(key string) bool { return slices.Contains(cloudInitSettings, key) }

// Permissions checks what callers may do.
type Permissions interface {
	Check(identity, path string, anyOf bool, privileges ...string) error
	CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error
}

// Storages hold the volumes, and check the access to them.
type Storages interface {
	On(id, node string) (storage.Definition, error)
	CheckVolume(identity, node string, vmid int, volume string) error
}

// Access checks what callers need in addition to the permissions of a method: for single settings, devices, bridges and
// volumes.
type Access struct {
	Reader

	permissions Permissions
	storages    Storages
}

// NewAccess returns checks with these permissions and storages.
func NewAccess(reader Reader, permissions Permissions, storages Storages) Access {
	return Access{Reader: reader, permissions: permissions, storages: storages}
}

// CheckSettings requires the privileges to change the named settings. Settings whose value matters are checked by CheckDevice
// (API2/Qemu.pm, check_vm_modify_config_perm).
func (a Access) CheckSettings(identity string, vmid int, pool string, names []string) error {
	if identity == access.Root {
		return nil
	}

	for _, name := range names {
		if err := a.checkSetting(identity, vmid, pool, name); err != nil {
			return err
		}
	}

	return nil
}

func (a Access) checkSetting(identity string, vmid int, pool, name string) error {
	db := a.permissions

	switch {
	case vmconfig.IsDrive(name), name == "cdrom", name == "tags", IsUnused(name),
		IsSerial(name), IsUSB(name), IsPCI(name),
		virtiofsKey.MatchString(name):
		return nil
	case vmconfig.IsNetwork(name):
		return db.CheckVM(identity, vmid, pool, false, "VM.Config.Network")
	case numaKey.MatchString(name):
		return db.CheckVM(identity, vmid, pool, false, "VM.Config.CPU")
	case slices.Contains(cloudInitSettings, name), IsIPConfig(name):
		return db.CheckVM(identity, vmid, pool, true, "VM.Config.Cloudinit", "VM.Config.Network")
	}

	for privilege, settings := range settingPrivileges {
		if !slices.Contains(settings, name) {
			continue
		}

		if err := db.CheckVM(identity, vmid, pool, false, privilege); err != nil {
			return err
		}

		if name == "startup" {
			return db.Check(identity, "/", false, "Sys.Modify")
		}

		return nil
	}

	return fmt.Errorf("only root can set '%s' config", name)
}

// CheckDevice requires the privileges to give the VM a device of the host (API2/Qemu.pm: check_hostpci_perm, check_usb_perm,
// check_vm_create_serial_perm).
func (a Access) CheckDevice(identity string, vmid int, pool, key, value string) error {
	if identity == access.Root {
		return nil
	}

	db := a.permissions

	switch {
	case IsSerial(key):
		if value != "socket" {
			return fmt.Errorf("only root can set '%s' config for real devices", key)
		}

		return db.CheckVM(identity, vmid, pool, false, "VM.Config.HWType")
	case IsPCI(key):
		return a.checkMapped(identity, vmid, pool, key, value, "pci")
	case IsUSB(key):
		return a.checkMapped(identity, vmid, pool, key, value, "usb")
	case virtiofsKey.MatchString(key):
		return fmt.Errorf("virtiofs directories are not emulated")
	default:
		return nil
	}
}

func (a Access) checkMapped(identity string, vmid int, pool, key, value, kind string) error {
	device, err := schema.ParseProperties(a.Fields(key), value)
	if err != nil {
		return schema.BadParam(key, "invalid format - %s", err)
	}

	if host := device["host"]; host != "" && !strings.EqualFold(host, "spice") {
		if kind == "pci" {
			return fmt.Errorf("only root can set '%s' config for non-mapped devices", key)
		}

		return fmt.Errorf("only root can set '%s' config for real devices", key)
	}

	if device["romfile"] != "" {
		return schema.BadParam(key, "only root@pam can set 'romfile' option")
	}

	if mapping := device["mapping"]; mapping != "" {
		if err := a.permissions.Check(identity, "/mapping/"+kind+"/"+mapping, false, "Mapping.Use"); err != nil {
			return err
		}
	} else if device["host"] == "" {
		return fmt.Errorf("either 'host' or 'mapping' must be set.")
	}

	return a.permissions.CheckVM(identity, vmid, pool, false, "VM.Config.HWType")
}

// CheckBridges requires the privilege to use the bridge of every network card (pve-guest-common GuestHelpers.pm,
// check_vnet_access).
func (a Access) CheckBridges(identity string, cards map[string]string) error {
	if identity == access.Root {
		return nil
	}

	for _, key := range slices.Sorted(maps.Keys(cards)) {
		if !vmconfig.IsNetwork(key) {
			continue
		}

		card, err := vmconfig.ParseCard(cards[key], a.Fields(key))
		if err != nil {
			return schema.BadParam(key, "invalid format - %s", err)
		}

		path := "/sdn/zones/localnetwork/" + card.Bridge()
		if tag := card.Options["tag"]; tag != "" {
			path += "/" + tag
		}

		if err := a.permissions.Check(identity, path, false, "SDN.Use"); err != nil {
			return err
		}
	}

	return nil
}

// CheckDrive requires the privileges to change a drive of this kind (API2/Qemu.pm, check_drive_perms).
func (a Access) CheckDrive(identity string, vmid int, drive *vmconfig.Drive) error {
	db := a.permissions

	switch {
	case drive.CloudInit():
		return db.CheckVM(identity, vmid, "", false, "VM.Config.Cloudinit", "VM.Config.CDROM")
	case drive.CDROM():
		return db.CheckVM(identity, vmid, "", false, "VM.Config.CDROM")
	default:
		return db.CheckVM(identity, vmid, "", false, "VM.Config.Disk")
	}
}

// CheckTags requires the privilege to set tags. Free tags are allowed by default (GuestHelpers.pm, assert_tag_permissions).
func (a Access) CheckTags(identity string, vmid int) error {
	return a.permissions.CheckVM(identity, vmid, "", false, "VM.Config.Options")
}

// RootOnly returns an error for options that only root may use.
func RootOnly(identity string, params schema.Params, names ...string) error {
	for _, name := range names {
		if params.Has(name) && params.Get(name) != "0" && identity != access.Root {
			return schema.BadParam(name, "Only root may use this option.")
		}
	}

	return nil
}
