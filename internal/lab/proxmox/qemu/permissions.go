package qemu

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

// Privileges that settings of a VM ask for (qemu-server API2/Qemu.pm: cpuoptions, memoryoptions, hwtypeoptions,
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

// guard demands what callers need beyond the permissions of a method: for single settings, devices, bridges and volumes. It
// keeps nothing.
type guard struct {
	settings
	permissions Permissions
	storages    Storages
}

// checkSettings demands what it takes to change the settings of these names. Settings whose value decides are left
// to checkDevice (API2/Qemu.pm, check_vm_modify_config_perm).
func (s guard) checkSettings(identity string, vmid int, pool string, names []string) error {
	if identity == access.Root {
		return nil
	}

	for _, name := range names {
		if err := s.checkSetting(identity, vmid, pool, name); err != nil {
			return err
		}
	}

	return nil
}

func (s guard) checkSetting(identity string, vmid int, pool, name string) error {
	db := s.permissions

	switch {
	case vmconfig.IsDrive(name), name == "cdrom", name == "tags", unusedKey.MatchString(name),
		serialKey.MatchString(name), usbKey.MatchString(name), hostpciKey.MatchString(name),
		virtiofsKey.MatchString(name):
		return nil
	case vmconfig.IsNetwork(name):
		return db.CheckVM(identity, vmid, pool, false, "VM.Config.Network")
	case numaKey.MatchString(name):
		return db.CheckVM(identity, vmid, pool, false, "VM.Config.CPU")
	case slices.Contains(cloudInitSettings, name), ipconfigKey.MatchString(name):
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

// checkDevice demands what it takes to give the VM a device of the host (API2/Qemu.pm: check_hostpci_perm,
// check_usb_perm, check_vm_create_serial_perm).
func (s guard) checkDevice(identity string, vmid int, pool, key, value string) error {
	if identity == access.Root {
		return nil
	}

	db := s.permissions

	switch {
	case serialKey.MatchString(key):
		if value != "socket" {
			return fmt.Errorf("only root can set '%s' config for real devices", key)
		}

		return db.CheckVM(identity, vmid, pool, false, "VM.Config.HWType")
	case hostpciKey.MatchString(key):
		return s.checkMapped(identity, vmid, pool, key, value, "pci")
	case usbKey.MatchString(key):
		return s.checkMapped(identity, vmid, pool, key, value, "usb")
	case virtiofsKey.MatchString(key):
		return fmt.Errorf("virtiofs directories are not emulated")
	default:
		return nil
	}
}

func (s guard) checkMapped(identity string, vmid int, pool, key, value, kind string) error {
	device, err := schema.ParseProperties(s.fields(key), value)
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
		if err := s.permissions.Check(identity, "/mapping/"+kind+"/"+mapping, false, "Mapping.Use"); err != nil {
			return err
		}
	} else if device["host"] == "" {
		return fmt.Errorf("either 'host' or 'mapping' must be set.")
	}

	return s.permissions.CheckVM(identity, vmid, pool, false, "VM.Config.HWType")
}

// checkBridges demands the use of every bridge that a card is plugged into (pve-guest-common GuestHelpers.pm,
// check_vnet_access).
func (s guard) checkBridges(identity string, cards map[string]string) error {
	if identity == access.Root {
		return nil
	}

	for _, key := range slices.Sorted(maps.Keys(cards)) {
		if !vmconfig.IsNetwork(key) {
			continue
		}

		card, err := vmconfig.ParseCard(cards[key], s.fields(key))
		if err != nil {
			return schema.BadParam(key, "invalid format - %s", err)
		}

		path := "/sdn/zones/localnetwork/" + card.Bridge()
		if tag := card.Options["tag"]; tag != "" {
			path += "/" + tag
		}

		if err := s.permissions.Check(identity, path, false, "SDN.Use"); err != nil {
			return err
		}
	}

	return nil
}

// checkDriveStorage demands what it takes to allocate or attach a drive (API2/Qemu.pm, check_storage_access).
func (s guard) checkDriveStorage(identity, node string, vmid int, drive *vmconfig.Drive, fallback string) error {
	volume := drive.Volume()

	if volume == "none" || strings.HasSuffix(volume, "cloudinit") {
		return nil
	}

	if drive.CDROM() && volume == "cdrom" {
		return s.permissions.Check(identity, "/", false, "Sys.Console")
	}

	if target, _, ok := drive.NewDisk(); ok && !drive.CDROM() {
		return s.checkAllocate(identity, node, target, fallback)
	}

	return s.storages.CheckVolume(identity, node, vmid, volume)
}

func (s guard) checkAllocate(identity, node, target, fallback string) error {
	if target == "" {
		target = fallback
	}

	if target == "" {
		return fmt.Errorf("no storage ID specified (and no default storage)")
	}

	if err := s.permissions.Check(identity, "/storage/"+target, false, "Datastore.AllocateSpace"); err != nil {
		return err
	}

	st, err := s.storages.On(target, node)
	if err != nil {
		return err
	}

	if !st.Holds(storage.Images) {
		return schema.BadParam("storage", "storage '%s' does not support vm images", target)
	}

	return nil
}

// checkDrive demands what it takes to change a drive of this kind (API2/Qemu.pm, check_drive_perms).
func (s guard) checkDrive(identity string, vmid int, drive *vmconfig.Drive) error {
	db := s.permissions

	switch {
	case drive.CloudInit():
		return db.CheckVM(identity, vmid, "", false, "VM.Config.Cloudinit", "VM.Config.CDROM")
	case drive.CDROM():
		return db.CheckVM(identity, vmid, "", false, "VM.Config.CDROM")
	default:
		return db.CheckVM(identity, vmid, "", false, "VM.Config.Disk")
	}
}

// checkTags demands the right to set tags. Free tags are allowed by default (GuestHelpers.pm,
// assert_tag_permissions).
func (s guard) checkTags(identity string, vmid int) error {
	return s.permissions.CheckVM(identity, vmid, "", false, "VM.Config.Options")
}
