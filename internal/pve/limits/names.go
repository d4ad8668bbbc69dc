package limits

import "regexp"

// Name is the valid form of a kind of name.
type Name struct {
	// Words describe the form in a message.
	Words string

	form     *regexp.Regexp
	reserved *regexp.Regexp // what has the form and is not free; nil for none
}

// Matches reports whether a name has the form.
func (n Name) Matches(name string) bool {
	return n.form.MatchString(name) && (n.reserved == nil || !n.reserved.MatchString(name))
}

// The forms of names in Proxmox VE, as pve-common and pve-access-control register them.
var (
	// Host is pve-node (JSONSchema.pm, pve_verify_node_name).
	Host = Name{
		"a host's name: letters, digits and -, at most 63 characters",
		regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`), nil,
	}
	// Storage is pve-storage-id (JSONSchema.pm, parse_id).
	Storage = Name{
		"a storage's ID: a letter, then letters, digits, -, _ and ., the last a letter or digit",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*[a-zA-Z0-9]$`), nil,
	}
	// Bridge is pve-bridge-id (JSONSchema.pm, parse_bridge_id); Linux has no longer interface names (IFNAMSIZ).
	Bridge = Name{
		"a bridge's name: letters, digits, -, _ and ., at most 15 characters",
		regexp.MustCompile(`^[a-zA-Z0-9._-]{1,15}$`), nil,
	}
	// Interface is pve-iface (JSONSchema.pm, pve_verify_iface), the form of an interface in the API of a host's network, without the : of an alias,
	// and at most as long as Linux allows (IFNAMSIZ). Bridge, the form for cards of machines, is wider.
	Interface = Name{
		"an interface's name: a letter, then letters, digits and _, perhaps a dot and a number, 2 to 15 characters",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{1,14}(\.[0-9]+)?$`), regexp.MustCompile(`^.{16,}$`),
	}
	// Pool is pve-poolid (AccessControl.pm, verify_poolname), with the first letter that a new pool must have (pve-manager,
	// PVE/API2/Pool.pm, create_pool).
	Pool = Name{
		"a pool's ID: a letter, then letters, digits, -, _ and ., nested with / three deep at most",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9._-]*(/[a-zA-Z][a-zA-Z0-9._-]*){0,2}$`), nil,
	}
	// Tag is pve-tag (JSONSchema.pm, pve_verify_tag). Proxmox VE stores tags in lower case unless a datacenter says otherwise.
	Tag = Name{
		"a tag: lower-case letters, digits, _, -, + and ., the first a letter, digit or _",
		regexp.MustCompile(`^[a-z0-9_][a-z0-9_+.-]*$`), nil,
	}
	// Mapping is pve-configid (JSONSchema.pm, pve_verify_configid).
	Mapping = Name{
		"a mapping's ID: a letter, then letters, digits, - and _, two characters at least",
		regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_-]+$`), nil,
	}
	// ConfigID is pve-configid (JSONSchema.pm, parse_config_id), the ID of a metric server or a backup job.
	ConfigID = Name{"an ID: a letter, then letters, digits, - and _, two characters at least", Mapping.form, nil}
	// Option is the name of an option of the cluster (pve-cluster, PVE/DataCenterConfig.pm).
	Option = Name{"an option's name: a-z, with - and _ between words", regexp.MustCompile(`^[a-z0-9]+([-_][a-z0-9]+)*$`), nil}
	// USBDevice and USBPort are what a mapping of USB devices has (pve-guest-common, PVE/Mapping/USB.pm, map_fmt).
	USBDevice = Name{"vendor:product, four hexadecimal digits each", regexp.MustCompile(`^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}$`), nil}
	USBPort   = Name{"bus-port, with further ports behind dots", regexp.MustCompile(`^\d+-\d+(\.\d+)*$`), nil}
	// Machine is dns-name (JSONSchema.pm, pve_verify_dns_name), the form of a machine's name.
	Machine = Name{
		"a machine's name: labels of letters, digits and - with dots between them",
		regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$`), nil,
	}
)
