package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// Flag is a Perl boolean in JSON: 0, 1 or absent.
type Flag bool

// UnmarshalJSON accepts 0, 1, "0", "1", true and false.
func (f *Flag) UnmarshalJSON(raw []byte) error {
	switch s := strings.Trim(string(raw), `"`); s {
	case "1", "true":
		*f = true
	case "0", "false", "", "null":
		*f = false
	default:
		return fmt.Errorf("%s is no flag", raw)
	}

	return nil
}

// Number is a limit. Proxmox VE writes some limits as strings.
type Number float64

// UnmarshalJSON accepts a number or a string with a number.
func (n *Number) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil {
		return fmt.Errorf("%s is no number: %w", raw, err)
	}

	*n = Number(f)

	return nil
}

// String returns the limit without an exponent, as Perl does.
func (n Number) String() string { return strconv.FormatFloat(float64(n), 'f', -1, 64) }

// Type is the declared type of a value.
type Type string

// The types in the API description.
const (
	String  Type = "string"
	Integer Type = "integer"
	NumberT Type = "number"
	Boolean Type = "boolean"
	Array   Type = "array"
	Object  Type = "object"
	Null    Type = "null"
)

// Property describes one parameter or returned value.
type Property struct {
	Type       Type                 `json:"type"`
	Optional   Flag                 `json:"optional"`
	Format     Format               `json:"format"`
	Enum       []string             `json:"enum"`
	Pattern    string               `json:"pattern"`
	Minimum    *Number              `json:"minimum"`
	Maximum    *Number              `json:"maximum"`
	MinLength  *int                 `json:"minLength"`
	MaxLength  *int                 `json:"maxLength"`
	Requires   string               `json:"requires"`
	Default    json.RawMessage      `json:"default"`
	Items      *Property            `json:"items"`
	Properties map[string]*Property `json:"properties"`
	// DefaultKey is set for the field of a property string whose name may be left out.
	DefaultKey Flag `json:"default_key"`

	pattern *regexp.Regexp
	// longest is the maximum length by the pattern, or 0 for none.
	longest int
}

// Format is either the name of a registered format or a property string's own fields.
type Format struct {
	Name   string
	Fields map[string]*Property
}

// UnmarshalJSON accepts a name and an object of fields.
func (f *Format) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &f.Name)
	}

	return json.Unmarshal(raw, &f.Fields)
}

func (p *Property) compile() error {
	if p.Pattern != "" {
		var err error
		if p.pattern, p.longest, err = compilePattern(p.Pattern); err != nil {
			return err
		}
	}

	if p.Items != nil {
		if err := p.Items.compile(); err != nil {
			return err
		}
	}

	for _, fields := range []map[string]*Property{p.Format.Fields, p.Properties} {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if err := fields[name].compile(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}

	return nil
}

// indexed returns how many parameters of an indexed name exist (qemu-server: QemuServer.pm, QemuServer/Drive.pm,
// QemuServer/PCI.pm, QemuServer/USB.pm, QemuServer/Memory.pm, QemuServer/Virtiofs.pm).
func indexed(name string) int {
	switch name {
	case "ide":
		return limits.IDEDrives
	case "serial":
		return 4
	case "mp", "dev":
		return 256 // pve-container LXC/Config.pm, MAX_MOUNT_POINTS and MAX_DEVICES
	case "sata":
		return limits.SATADrives
	case "scsi":
		return limits.SCSIDrives
	case "virtio":
		return limits.VirtIODrives
	case "hostpci":
		return limits.PCIDevices
	case "net", "ipconfig":
		return limits.NICs
	case "usb":
		return 14
	case "numa":
		return 8
	case "parallel":
		return 3
	case "virtiofs":
		return 10
	case "unused":
		return 256
	default:
		return 0
	}
}

// Lookup returns the property of a name from a set that may have indexed names such as "net[n]".
func Lookup(set map[string]*Property, name string) (*Property, bool) {
	if p, ok := set[name]; ok && !strings.HasSuffix(name, "[n]") {
		return p, true
	}

	base := strings.TrimRight(name, "0123456789")

	index, err := strconv.Atoi(name[len(base):])
	if err != nil || index >= indexed(base) || strconv.Itoa(index) != name[len(base):] {
		return nil, false
	}

	p, ok := set[base+"[n]"]

	return p, ok
}
