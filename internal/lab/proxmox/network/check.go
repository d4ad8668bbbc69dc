package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// checkParams refuses what another interface has already (pve-manager API2/Network.pm, check_duplicate_gateway and
// check_duplicate_ports).
func (n *network) checkParams(name string, params schema.Params) error {
	for _, one := range []struct{ key, noun string }{{"gateway", "Default gateway"}, {"gateway6", "Default ipv6 gateway"}} {
		for other := range n.others(name) {
			if params.Get(one.key) != "" && n.current()[other][one.key] != "" {
				return schema.BadParam(one.key, "%s already exists on interface '%s'.", one.noun, other)
			}
		}
	}

	for other := range n.others(name) {
		taken := strings.Fields(n.current()[other]["bridge_ports"])

		for _, port := range strings.Fields(params.Get("bridge_ports")) {
			if slices.Contains(taken, port) {
				return schema.BadParam("bridge_ports", "%s is already used on interface '%s'.", port, other)
			}
		}
	}

	return nil
}

// others yields the names of the other interfaces, sorted.
func (n *network) others(name string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, other := range slices.Sorted(maps.Keys(n.current())) {
			if other != name && !yield(other) {
				return
			}
		}
	}
}

// checkFile refuses interfaces that Proxmox VE would not write to the file. It checks each change together with all other
// interfaces (pve-common Network/Interfaces.pm, __write_etc_network_interfaces). It accepts a bridge with ports that the host
// lacks, because a description of a host does not list its cards beyond the usual ones.
func checkFile(interfaces map[string]iface) error {
	for _, name := range slices.Sorted(maps.Keys(interfaces)) {
		i := interfaces[name]

		if parent := i["vlan-raw-device"]; i["type"] == "vlan" && interfaces[parent] == nil {
			return fmt.Errorf("vlan '%s' - unable to find parent '%s'", name, parent)
		}

		for _, port := range strings.Fields(i["bridge_ports"]) {
			if p := interfaces[port]; i.isBridge() && (p["method"] == "static" || p["method6"] == "static") {
				return fmt.Errorf("iface %s - ip address can't be set on interface if bridged in %s", port, name)
			}
		}
	}

	return checkMTUs(interfaces)
}
