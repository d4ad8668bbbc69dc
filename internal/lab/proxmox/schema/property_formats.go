package schema

import "strings"

// propertyFormats are named property strings that the API description does not define. Fields and patterns are those of
// qemu-server: QemuServer.pm (boot, cicustom, ipconfig, smbios1, watchdog), QemuServer/CPUConfig.pm, QemuServer/PCI.pm,
// QemuServer/RNG.pm; those of backups are of pve-storage Storage/Plugin.pm and pve-guest-common VZDump/Common.pm.
var propertyFormats = map[string]map[string]*Property{
	"prune-backups": {
		"keep-all":     optional(Boolean, ""),
		"keep-last":    count(0),
		"keep-hourly":  count(0),
		"keep-daily":   count(0),
		"keep-weekly":  count(0),
		"keep-monthly": count(0),
		"keep-yearly":  count(0),
	},
	"backup-fleecing": {
		"enabled": {Type: Boolean, Optional: true, DefaultKey: true},
		"storage": named("pve-storage-id"),
	},
	"backup-performance": {
		"max-workers":     {Type: Integer, Optional: true, Minimum: new(Number(1)), Maximum: new(Number(256))},
		"pbs-entries-max": count(1),
	},
	"pve-qm-boot": {
		"legacy": optional(String, `[acdn]{1,4}`),
		"order":  named("pve-qm-bootdev-list"),
	},
	"pve-qm-cicustom": {
		"meta":    named("pve-volume-id"),
		"network": named("pve-volume-id"),
		"user":    named("pve-volume-id"),
		"vendor":  named("pve-volume-id"),
	},
	"pve-qm-ipconfig": {
		"ip":  named("pve-ipv4-config"),
		"gw":  named("ipv4"),
		"ip6": named("pve-ipv6-config"),
		"gw6": named("ipv6"),
	},
	"pve-qm-smbios1": {
		"uuid":         optional(String, `[a-fA-F0-9]{8}(?:-[a-fA-F0-9]{4}){3}-[a-fA-F0-9]{12}`),
		"version":      optional(String, base64Form),
		"serial":       optional(String, base64Form),
		"manufacturer": optional(String, base64Form),
		"product":      optional(String, base64Form),
		"sku":          optional(String, base64Form),
		"family":       optional(String, base64Form),
		"base64":       optional(Boolean, ""),
	},
	"pve-qm-watchdog": {
		"model":  {Type: String, Enum: []string{"i6300esb", "ib700"}},
		"action": {Type: String, Optional: true, Enum: []string{"reset", "shutdown", "poweroff", "pause", "debug", "none"}},
	},
	"pve-qm-hostpci": {
		"host":          optional(String, pciAddresses),
		"mapping":       named("pve-configid"),
		"rombar":        optional(Boolean, ""),
		"romfile":       optional(String, `[^,;]+`),
		"pcie":          optional(Boolean, ""),
		"x-vga":         optional(Boolean, ""),
		"legacy-igd":    optional(Boolean, ""),
		"mdev":          optional(String, `[^/\.:]+`),
		"vendor-id":     optional(String, hexWord),
		"device-id":     optional(String, hexWord),
		"sub-vendor-id": optional(String, hexWord),
		"sub-device-id": optional(String, hexWord),
	},
	"pve-qm-rng": {
		"source":    {Type: String, Enum: []string{"/dev/urandom", "/dev/random", "/dev/hwrng"}},
		"max_bytes": optional(Integer, ""),
		"period":    optional(Integer, ""),
	},
	"pve-vm-cpu-conf": {
		"cputype":        optional(String, ""),
		"reported-model": optional(String, ""),
		"hidden":         optional(Boolean, ""),
		"hv-vendor-id":   optional(String, `[a-zA-Z0-9]{1,12}`),
		"flags":          optional(String, `[+-][\w\-.]+(;[+-][\w\-.]+)*`),
		"phys-bits":      named("pve-phys-bits"),
		"guest-phys-bits": {
			Type: Integer, Optional: true, Minimum: new(Number(32)), Maximum: new(Number(64)),
		},
	},
	"pve-qemu-sev-fmt": {
		"type":           {Type: String, Enum: []string{"std", "es", "snp"}},
		"no-debug":       optional(Boolean, ""),
		"no-key-sharing": optional(Boolean, ""),
		"allow-smt":      optional(Boolean, ""),
		"kernel-hashes":  optional(Boolean, ""),
	},
	"pve-qemu-tdx-fmt": {
		"type":           {Type: String, Enum: []string{"tdx"}},
		"attestation":    optional(Boolean, ""),
		"vsock-cid":      optional(Integer, ""),
		"vsock-port":     optional(Integer, ""),
		"no-quote-check": optional(Boolean, ""),
	},
}

const (
	base64Form   = `[A-Za-z0-9+/]+={0,2}`
	pciAddresses = `(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\.[a-f0-9])?(?:;(?:[a-f0-9]{4,}:)?[a-f0-9]{2}:[a-f0-9]{2}(?:\.[a-f0-9])?)*`
	hexWord      = `0x[0-9a-fA-F]{4}`
)

func named(format string) *Property {
	return &Property{Type: String, Optional: true, Format: Format{Name: format}}
}

// count returns a number with a lower limit.
func count(least Number) *Property {
	return &Property{Type: Integer, Optional: true, Minimum: &least}
}

// validators refuse combinations of the fields of a format (pve-storage Storage/Plugin.pm, validate_prune_backups; pve-guest-common
// VZDump/Common.pm, verify_backup_fleecing).
var validators = map[string]func(Properties) error{
	"prune-backups": func(values Properties) error {
		for name, value := range values {
			if name != "keep-all" && values["keep-all"] == "1" && strings.Trim(value, "+0") != "" {
				return formatProblem("keep-all cannot be set together with other options.")
			}
		}

		return nil
	},
	"backup-fleecing": func(values Properties) error {
		if values["enabled"] == "1" && values["storage"] == "" {
			return formatProblem("'storage' parameter is required when 'enabled' is set")
		}

		return nil
	},
}

func optional(t Type, pattern string) *Property {
	p := &Property{Type: t, Optional: true, Pattern: pattern}
	if pattern != "" {
		p.pattern = mustCompilePattern(pattern)
	}

	return p
}

// Fields returns the fields of a property string, from its named format or its own definition.
func (p *Property) Fields() map[string]*Property {
	if p.Format.Fields != nil {
		return p.Format.Fields
	}

	return propertyFormats[p.Format.Name]
}
