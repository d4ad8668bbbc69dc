package network

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

// checkMTUs refuses an interface whose MTU is larger than that of an interface that carries it (pve-common Network/Interfaces.pm,
// check_mtu). A bond carries its slaves, a device its VLANs, and a port its bridge.
func checkMTUs(interfaces map[string]iface) error {
	for _, name := range slices.Sorted(maps.Keys(interfaces)) {
		i := interfaces[name]

		switch {
		case i["type"] == "bond":
			for _, slave := range strings.Fields(i["slaves"]) {
				if err := checkMTU(interfaces, name, slave); err != nil {
					return err
				}
			}
		case i["type"] == "vlan":
			if err := checkMTU(interfaces, i["vlan-raw-device"], name); err != nil {
				return err
			}
		case i.isBridge():
			for _, port := range strings.Fields(i["bridge_ports"]) {
				if err := checkMTU(interfaces, port, name); err != nil {
					return err
				}
			}
		}
	}

	return nil
}

// checkMTU refuses an MTU of child that is larger than that of parent. A bond without one takes that of its child.
func checkMTU(interfaces map[string]iface, parent, child string) error {
	wants, _ := strconv.Atoi(interfaces[child]["mtu"])

	carrier, isThere := carrierOf(interfaces, parent)
	if wants == 0 || !isThere {
		return nil
	}

	has, _ := strconv.Atoi(carrier["mtu"])

	switch {
	case has == 0 && carrier["type"] == "bond":
		has = wants
	case has == 0:
		has = limits.DeviceMTU
	}

	if has < wants {
		return fmt.Errorf("interface '%s' - mtu %d is lower than '%s' - mtu %d", parent, has, child, wants)
	}

	return nil
}

// portVLAN matches the name of a VLAN that is a port without being in the file.
var portVLAN = regexp.MustCompile(`(\S+)\.\d+$`)

// carrierOf returns an interface by its name. A VLAN that the file does not have is made with the MTU of its device.
func carrierOf(interfaces map[string]iface, name string) (iface, bool) {
	if i, isThere := interfaces[name]; isThere {
		return i, true
	}

	vlan := portVLAN.FindStringSubmatch(name)
	if vlan == nil {
		return nil, false
	}

	device, isThere := interfaces[vlan[1]]

	return iface{"type": "vlan", "mtu": device["mtu"]}, isThere
}
