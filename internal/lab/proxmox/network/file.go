package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
)

// changes returns the difference between the file of the active interfaces and that of the staged ones, as a request sees it; empty if
// nothing is staged or both are equal (pve-common INotify.pm, ccache_compute_diff: diff -b -N -u).
func (n *network) changes() (string, error) {
	if n.Staged == nil {
		return "", nil
	}

	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(file(n.Active)), B: difflib.SplitLines(file(n.Staged)),
		FromFile: "/etc/network/interfaces", ToFile: "/etc/network/interfaces.new", Context: 3,
	})
}

// settings are the lines of a stanza, by the field of the API (pve-common INotify.pm, __write_etc_network_interfaces).
var settings = []struct{ field, word string }{
	{"gateway", "gateway"}, {"bridge_ports", "bridge-ports"}, {"bridge_stp", "bridge-stp"}, {"bridge_fd", "bridge-fd"},
	{"slaves", "bond-slaves"}, {"bond_mode", "bond-mode"}, {"mtu", "mtu"}, {"vlan-raw-device", "vlan-raw-device"}, {"vlan-id", "vlan-id"},
}

// file writes interfaces in the form of /etc/network/interfaces.
func file(interfaces map[string]iface) string {
	var text strings.Builder

	text.WriteString("auto lo\niface lo inet loopback\n\n")

	for _, name := range slices.Sorted(maps.Keys(interfaces)) {
		interfaces[name].write(&text, name)
	}

	return text.String()
}

func (i iface) write(text *strings.Builder, name string) {
	if i["autostart"] == "1" {
		fmt.Fprintf(text, "auto %s\n", name)
	}

	fmt.Fprintf(text, "iface %s inet %s\n", name, i["method"])

	if i["cidr"] != "" {
		fmt.Fprintf(text, "\taddress %s\n", i["cidr"])
	}

	for _, setting := range settings {
		value := i[setting.field]
		if setting.field == "bridge_ports" && i.isBridge() && value == "" {
			value = "none"
		}

		if value != "" {
			fmt.Fprintf(text, "\t%s %s\n", setting.word, value)
		}
	}

	if i["bridge_vlan_aware"] == "1" {
		text.WriteString("\tbridge-vlan-aware yes\n\tbridge-vids 2-4094\n")
	}

	for line := range strings.Lines(strings.TrimSpace(i["comments"])) {
		fmt.Fprintf(text, "#%s\n", strings.TrimSuffix(line, "\n"))
	}

	text.WriteString("\n")

	if i["cidr6"] != "" {
		fmt.Fprintf(text, "iface %s inet6 static\n\taddress %s\n", name, i["cidr6"])

		if i["gateway6"] != "" {
			fmt.Fprintf(text, "\tgateway %s\n", i["gateway6"])
		}

		text.WriteString("\n")
	}
}
