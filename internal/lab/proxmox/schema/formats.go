package schema

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/calendar"
)

// simpleFormat is a named format with a pattern. Patterns and texts are those of pve-common JSONSchema.pm unless another file
// is named.
type simpleFormat struct {
	pattern *regexp.Regexp
	// problem is the error text; %s stands for the value.
	problem string
}

const ipv4Octets = `(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)`

var simpleFormats = map[string]simpleFormat{
	"urlencoded":           {regexp.MustCompile(`^[-%a-zA-Z0-9_.!~*'()]*$`), "invalid urlencoded string: %s"},
	"pve-configid":         {regexp.MustCompile(`^(?i:[a-z][a-z0-9_-]+)$`), "invalid configuration ID '%s'"},
	"pve-storage-id":       {regexp.MustCompile(`^(?i:[a-z][a-z0-9\-_.]*[a-z0-9])$`), "storage ID '%s' contains illegal characters"},
	"pve-bridge-id":        {regexp.MustCompile(`^[-_.\w]+$`), "invalid bridge ID '%s'"},
	"pve-vmid":             {regexp.MustCompile(`^[1-9][0-9]{2,8}$`), "value does not look like a valid VM ID"},
	"pve-node":             {regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9\-]*[a-zA-Z0-9])?$`), "value does not look like a valid node name"},
	"mac-addr":             {regexp.MustCompile(`^(?i:[a-f0-9][02468ace](?::[a-f0-9]{2}){5})$`), "value does not look like a valid unicast MAC address"},
	"dns-name":             {regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9\-]*[a-zA-Z0-9])?$`), "value does not look like a valid DNS name"},
	"pve-vlan-id-or-range": {regexp.MustCompile(`^(?:[1-9]\d{0,3})(?:-[1-9]\d{0,3})?$`), "invalid VLAN tag '%s'"},
	"pve-iface":            {regexp.MustCompile(`^(?i:[a-z][a-z0-9_]{1,20}([:.]\d+)?)$`), "invalid network interface name '%s'"},
	"disk-size":            {sizeForm, "value does not look like a valid disk size: %s"},
	"pve-tag":              {regexp.MustCompile(`^(?i:[a-z0-9_][a-z0-9_\-+.]*)$`), "invalid characters in tag"},
	"ipv4mask":             {regexp.MustCompile(`^` + ipv4Octets + `$`), "value does not look like a valid IP netmask"},
	"pve-phys-bits":        {regexp.MustCompile(`^(host|[89]|[1-5]\d|6[0-4])$`), "value must be an integer between 8 and 64 or 'host'"},
	"pve-ipv4-config":      {regexp.MustCompile(`^(?:dhcp|manual|` + ipv4Octets + `/(?:[89]|[12]\d|3[0-2]))$`), "value does not look like a valid ipv4 network configuration"},
	// qemu-server QemuServer.pm.
	"pve-qm-bootdev":       {regexp.MustCompile(`^(?:(?:ide|sata|scsi|virtio|net|usb|hostpci)\d+)$`), "invalid boot device '%s'"},
	"pve-qm-bootdisk":      {regexp.MustCompile(`^(?:(?:ide|sata|scsi|virtio)\d+)$`), "invalid boot disk '%s'"},
	"pve-hotplug-features": {regexp.MustCompile(`^(?:[01]|(?:network|disk|cpu|memory|usb|cloudinit)(?:[,; ](?:network|disk|cpu|memory|usb|cloudinit))*)$`), "unable to parse hotplug option"},
	"pve-cpuset":           {regexp.MustCompile(`^\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*$`), "unable to parse cpuset option"},
	"pve-startup-order":    {regexp.MustCompile(`^(?:(?:order=)?\d+|up=\d+|down=\d+)(?:,(?:(?:order=)?\d+|up=\d+|down=\d+))*$`), "unable to parse startup options"},
	// pve-storage Storage.pm, Storage/Plugin.pm.
	"pve-volume-id":                  {regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]:\S+$`), "unable to parse volume ID '%s'\n"},
	"pve-volume-id-or-qm-path":       {regexp.MustCompile(`^(?:none|cdrom|/\S+|(?:[^/:\s]+:)?\d+(?:\.\d+)?|[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]:\S+|\S*cloudinit)$`), "unable to parse volume ID '%s'\n"},
	"pve-volume-id-or-absolute-path": {regexp.MustCompile(`^(?:/\S+|[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]:\S+)$`), "unable to parse volume ID '%s'\n"},
	"pve-storage-path":               {regexp.MustCompile(`^/[^;()]+`), "value does not look like a valid absolute path"},
	"pve-storage-vgname":             {regexp.MustCompile(`^(?i:[a-z0-9][a-z0-9\-_.]*[a-z0-9])$`), "lvm name '%s' contains illegal characters"},
	"pve-storage-portal-dns":         {regexp.MustCompile(`^(?:[A-Za-z0-9.-]+|\[?[0-9a-fA-F:]+\]?)(?::\d+)?$`), "value does not look like a valid portal address"},
	"pve-storage-content":            {regexp.MustCompile(`^(?:images|rootdir|vztmpl|iso|backup|snippets|import|none)$`), "invalid content type '%s'"},
	// pve-access-control AccessControl.pm, Auth/Plugin.pm.
	"pve-lxc-mp-string":  {regexp.MustCompile(`^(?:/?[^/]+(?:/[^/]+)*/?|/)$`), "%s contains illegal character sequences\n"},
	"pve-lxc-dev-string": {regexp.MustCompile(`^/dev/\S+$`), "%s is not a valid device path\n"},
	"pve-ct-timezone":    {regexp.MustCompile(`^(?:host|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)*)$`), "invalid time zone '%s'\n"},

	"pve-userid":  {regexp.MustCompile(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+$`), "value '%s' does not look like a valid user name"},
	"pve-tokenid": {regexp.MustCompile(`^[^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+![A-Za-z][A-Za-z0-9.\-_]+$`), "value '%s' does not look like a valid token ID"},
	"pve-groupid": {regexp.MustCompile(`^[A-Za-z0-9.\-_]+$`), "group name '%s' contains invalid characters"},
	"pve-roleid":  {regexp.MustCompile(`^[A-Za-z0-9.\-_]+$`), "role name '%s' contains invalid characters"},
	"pve-poolid":  {regexp.MustCompile(`^[A-Za-z0-9.\-_]+(?:/[A-Za-z0-9.\-_]+){0,2}$`), "pool name '%s' contains invalid characters"},
	"pve-realm":   {regexp.MustCompile(`^[A-Za-z][A-Za-z0-9.\-_]+$`), "value does not look like a valid realm"},
	"email":       {regexp.MustCompile(`^[^\s@]+@[^\s@]+$`), "value does not look like a valid email address"},
	"pve-priv":    {regexp.MustCompile(`^[A-Z][A-Za-z]+(?:\.[A-Z][A-Za-z]+)+$`), "invalid privilege '%s'"},
	// pve-ha-manager Tools.pm, pve-guest-common, pve-common.
	"pve-ha-resource-or-vm-id": {regexp.MustCompile(`^(?:[a-z]+:\S+|\d+)$`), "value does not look like a valid ha resource id"},
	"pve-task-status-type":     {regexp.MustCompile(`^(?i:ok|error|warning|unknown)$`), "invalid status '%s'"},
	// pve-manager API2/Backup.pm, Status/Graphite.pm; pve-common JSONSchema.pm and Tools.pm (EMAIL_RE, EMAIL_USER_RE).
	"pve-day-of-week":   {regexp.MustCompile(`^(?:mon|tue|wed|thu|fri|sat|sun)$`), "invalid day '%s'"},
	"email-or-username": {regexp.MustCompile(`^[\w+\-~]+(?:\.[\w+\-~]+)*(?:@[a-zA-Z0-9\-]+(?:\.[a-zA-Z0-9\-]+)*)?$`), "value does not look like a valid email address or user name"},
	"graphite-path":     {regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)*[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$`), "value does not look like a valid graphite path"},
	"mac-prefix":        {regexp.MustCompile(`^(?i:[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}:?)$`), "value is not a valid unicast MAC address prefix"},
}

// CheckFormat verifies a value against a named format, including the "-list" and "-opt" forms of every format. An unknown
// name is an error of this package; tests check all embedded methods for it.
func CheckFormat(name, value string) error {
	if base, ok := strings.CutSuffix(name, "-list"); ok && simpleFormats[name].pattern == nil {
		for _, entry := range SplitList(value) {
			if err := CheckFormat(base, entry); err != nil {
				return err
			}
		}

		return nil
	}

	if base, ok := strings.CutSuffix(name, "-opt"); ok {
		if value == "" {
			return nil
		}

		return CheckFormat(base, value)
	}

	if f, ok := simpleFormats[name]; ok {
		if f.pattern.MatchString(value) {
			return nil
		}

		return formatProblem(strings.Replace(f.problem, "%s", value, 1))
	}

	if fields, ok := propertyFormats[name]; ok {
		values, err := ParseProperties(fields, value)
		if validate := validators[name]; err == nil && validate != nil {
			err = validate(values)
		}

		return err
	}

	return checkAddress(name, value)
}

type formatProblem string

func (p formatProblem) Error() string { return string(p) }

// checkAddress handles the formats of IP addresses, and those that accept any string.
func checkAddress(name, value string) error {
	switch name {
	case "string", "pve-storage-options", "storage-pair", "pve-dir-override",
		"pve-ha-group-node":
		return nil
	case "pve-calendar-event":
		return checkEvent(value)
	case "ipv4":
		return addressProblem(value, "IPv4 address", func(a netip.Addr) bool { return a.Is4() })
	case "ipv6":
		return addressProblem(value, "IPv6 address", func(a netip.Addr) bool { return a.Is6() })
	case "ip", "lxc-ip-with-ll-iface":
		return addressProblem(value, "IP address", netip.Addr.IsValid)
	case "address":
		if CheckFormat("ip", value) == nil || CheckFormat("dns-name", value) == nil {
			return nil
		}

		return formatProblem("value does not look like a valid address: " + value)
	case "pve-storage-server":
		if CheckFormat("ip", value) == nil || CheckFormat("dns-name", value) == nil {
			return nil
		}

		return formatProblem("value does not look like a valid server name or IP address")
	case "CIDRv4", "CIDRv6", "CIDR":
		return cidrProblem(name, value)
	case "pve-ipv6-config":
		if value == "auto" || value == "dhcp" || value == "manual" || cidrProblem("CIDRv6", value) == nil {
			return nil
		}

		return formatProblem("value does not look like a valid ipv6 network configuration")
	default:
		return fmt.Errorf("undefined format '%s'", name)
	}
}

// checkEvent handles the schedule of a job (pve-common CalendarEvent.pm).
func checkEvent(text string) error {
	if strings.TrimSpace(text) == "" {
		return formatProblem(fmt.Sprintf("invalid calendar event '%s' - unable to parse calendar event - event is empty", text))
	}

	if _, err := calendar.Parse(strings.TrimSpace(text)); err != nil {
		return formatProblem(fmt.Sprintf("invalid calendar event '%s' - %s", text, err))
	}

	return nil
}

func addressProblem(value, what string, fits func(netip.Addr) bool) error {
	if a, err := netip.ParseAddr(value); err == nil && fits(a) {
		return nil
	}

	return formatProblem("value does not look like a valid " + what)
}

func cidrProblem(name, value string) error {
	// Proxmox VE accepts prefix lengths of 8 and more (JSONSchema.pm, pve_verify_cidrv4 and v6).
	const least = 8

	p, err := netip.ParsePrefix(value)
	if err == nil && p.Bits() >= least {
		switch {
		case name == "CIDR", name == "CIDRv4" && p.Addr().Is4(), name == "CIDRv6" && p.Addr().Is6():
			return nil
		}
	}

	family := map[string]string{"CIDR": "", "CIDRv4": "IPv4 ", "CIDRv6": "IPv6 "}[name]

	return formatProblem("value does not look like a valid " + family + "CIDR network")
}
