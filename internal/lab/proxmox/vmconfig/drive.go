package vmconfig

import (
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Drive is one disk or CD-ROM of a VM.
type Drive struct {
	// Key is the slot, such as "scsi0".
	Key string
	// Options are the fields of the property string, including "file".
	Options schema.Properties

	fields map[string]*schema.Property
}

var driveKey = regexp.MustCompile(`^(?:ide[0-3]|sata[0-5]|scsi(?:[12]?\d|30)|virtio(?:\d|1[0-5])|efidisk0|tpmstate0)$`)

// IsDrive reports whether a setting is a drive slot. Unused volumes are not (Drive.pm, is_valid_drivename).
func IsDrive(key string) bool { return driveKey.MatchString(key) }

// ParseDrive parses a drive with the fields that its slot allows. Its errors wrap schema.ErrProperties.
func ParseDrive(key, text string, fields map[string]*schema.Property) (*Drive, error) {
	options, err := schema.ParseProperties(fields, text)
	if err != nil {
		return nil, err
	}

	return &Drive{Key: key, Options: options, fields: fields}, nil
}

// String returns the drive in normal form, with its size in the largest unit that fits (Drive.pm, print_drive).
func (d *Drive) String() string {
	options := make(schema.Properties, len(d.Options))
	for name, value := range d.Options {
		options[name] = value
	}

	if size, ok := schema.ParseSize(options["size"]); ok {
		options["size"] = schema.FormatSize(size)
	}

	return schema.PrintProperties(d.fields, options)
}

// Volume returns the volume, or "none", or "STORAGE:SIZE" in a request for a new one.
func (d *Drive) Volume() string { return d.Options["file"] }

// Storage returns the storage of the volume, or "" for none.
func (d *Drive) Storage() string {
	storage, _, found := strings.Cut(d.Volume(), ":")
	if !found {
		return ""
	}

	return storage
}

// Size returns the recorded size in bytes.
func (d *Drive) Size() uint64 {
	size, _ := schema.ParseSize(d.Options["size"])
	return size
}

// SetSize records a size in bytes.
func (d *Drive) SetSize(bytes uint64) { d.Options["size"] = schema.FormatSize(bytes) }

// CDROM reports whether the drive is a CD-ROM. The cloud-init drive is one, too.
func (d *Drive) CDROM() bool { return d.Options["media"] == "cdrom" }

var cloudInitVolume = regexp.MustCompile(`(?:^|[:/])(?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow2?|qed|vmdk|cloop))?$`)

// CloudInit reports whether the drive is the cloud-init drive (Drive.pm, drive_is_cloudinit).
func (d *Drive) CloudInit() bool { return cloudInitVolume.MatchString(d.Volume()) }

var newDisk = regexp.MustCompile(`^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$`)

// NewDisk returns the storage and the size in GiB of a request for a new volume (Drive.pm, NEW_DISK_RE).
func (d *Drive) NewDisk() (storage, sizeGiB string, ok bool) {
	match := newDisk.FindStringSubmatch(d.Volume())
	if match == nil {
		return "", "", false
	}

	return match[1], match[2], true
}

// driveOrder is the order of the buses in which Proxmox VE searches the first disk (Drive.pm, valid_drive_names).
var driveOrder = []string{"ide", "scsi", "virtio", "sata", "efidisk", "tpmstate"}

// DriveKeys returns the used slots in Proxmox VE's order.
func (c *Config) DriveKeys() []string {
	keys := slices.DeleteFunc(c.Keys(), func(key string) bool { return !IsDrive(key) })

	slices.SortStableFunc(keys, func(a, b string) int {
		if order := slices.Index(driveOrder, bus(a)) - slices.Index(driveOrder, bus(b)); order != 0 {
			return order
		}

		return slotIndex(a) - slotIndex(b)
	})

	return keys
}

func bus(key string) string { return strings.TrimRight(key, "0123456789") }

func slotIndex(key string) int {
	n := 0
	for _, digit := range key[len(bus(key)):] {
		n = n*10 + int(digit-'0')
	}

	return n
}
