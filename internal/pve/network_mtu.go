package pve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// RaisedMTU is a new MTU of a card or a bond that the inventory does not name: Proxmox VE refuses an interface with a larger MTU than that of an
// interface that it is made of.
type RaisedMTU struct {
	// Name of the interface.
	Name string
	// MTU that it gets, and the wanted interface that has it.
	MTU int
	For string
}

// lacking returns the interfaces that the inventory does not name and that have a lower MTU than a wanted one that is made of them.
func lacking(present []NetworkInterface, wanted hostspec.Network) []RaisedMTU {
	var found []RaisedMTU
	for _, want := range wanted.Interfaces {
		for _, name := range want.Below() {
			have, isOther := carrier(present, wanted, name)
			if !isOther || have.mtu() >= want.MTU {
				continue
			}
			at := slices.IndexFunc(found, func(r RaisedMTU) bool { return r.Name == have.Name })
			switch {
			case at < 0:
				found = append(found, RaisedMTU{have.Name, want.MTU, want.Name})
			case found[at].MTU < want.MTU:
				found[at].MTU, found[at].For = want.MTU, want.Name
			}
		}
	}
	return found
}

// carrier returns the interface whose MTU limits what is on the interface with a name, unless the inventory names it. A port such as eno2.30 that the
// host does not have by itself is made with the MTU of eno2.
func carrier(present []NetworkInterface, wanted hostspec.Network, name string) (NetworkInterface, bool) {
	if _, isWanted := wanted.Named(name); isWanted {
		return NetworkInterface{}, false
	}
	if have, isThere := interfaceNamed(present, name); isThere {
		return have, true
	}
	dot := strings.LastIndex(name, ".")
	if dot < 0 {
		return NetworkInterface{}, false
	}
	if _, isWanted := wanted.Named(name[:dot]); isWanted {
		return NetworkInterface{}, false
	}
	return interfaceNamed(present, name[:dot])
}

func (n NetworkInterface) mtu() int {
	if mtu, err := strconv.Atoi(n.MTU); err == nil && mtu > 0 {
		return mtu
	}
	return limits.DeviceMTU
}

// canBeRaised reports whether the MTU can be set by a PUT that changes nothing else. A PUT would remove DHCP from an interface.
func (n NetworkInterface) canBeRaised() bool {
	isKept := func(method string) bool { return method == "" || method == "manual" || method == "static" }
	return (n.Type == "eth" || n.Type == "bond") && isKept(n.Method) && isKept(n.Method6)
}

// planRaises returns the cards and bonds whose MTU has to be raised.
func planRaises(present []NetworkInterface, wanted hostspec.Network) []RaisedMTU {
	return slices.DeleteFunc(lacking(present, wanted), func(r RaisedMTU) bool {
		have, _ := interfaceNamed(present, r.Name)
		return !have.canBeRaised()
	})
}

// checkMTUs refuses an MTU that Proxmox VE would refuse because of what the interface is made of, if the MTU of that cannot be raised.
func (r NetworkRun) checkMTUs(present []NetworkInterface) error {
	for _, one := range lacking(present, r.Wanted) {
		if have, _ := interfaceNamed(present, one.Name); !have.canBeRaised() {
			return fmt.Errorf("the network of %s is not changed, since %s is to have an MTU of %d, and %s, which it is made of, has %d (Proxmox VE wants no lower one there, and only that of cards and bonds without DHCP is raised here): raise it on %[1]s under System, Network, apply that, then run again",
				r.Wanted.Node, one.For, one.MTU, one.Name, have.mtu())
		}
	}
	return nil
}

// raise stages the raised MTUs. That is possible at any time, since nothing is below a card, and a bond may have any MTU that is not lower than those
// of its slaves.
func (r NetworkRun) raise(ctx context.Context, client *proxmox.Client, present []NetworkInterface, raises []RaisedMTU) error {
	for _, one := range raises {
		have, _ := interfaceNamed(present, one.Name)
		params := map[string]string{"type": have.Type, "cidr": have.CIDR, "cidr6": have.CIDR6, "mtu": strconv.Itoa(one.MTU)}
		maps.DeleteFunc(params, func(_, value string) bool { return value == "" })
		if err := client.Put(ctx, r.pathOf(one.Name), params, nil); err != nil {
			return r.notStaged("changed", one.Name, err)
		}
	}
	return nil
}

// wantedMTU returns the MTU of a wanted interface in bytes; without one, the default of a device.
func wantedMTU(want hostspec.Interface) int {
	if want.MTU == 0 {
		return limits.DeviceMTU
	}
	return want.MTU
}

// yieldMTU reports whether the interface gives up its MTU before anything else is written, and which MTU it has then; 0 for none. It does so if it
// gets a lower MTU, or if an interface that it is still made of gets one.
func (n NetworkInterface) yieldMTU(present []NetworkInterface, wanted hostspec.Network) (mtu int, yields bool) {
	if n.MTU == "" {
		return 0, false
	}
	if want, isWanted := wanted.Named(n.Name); isWanted && wantedMTU(want) < n.mtu() {
		return want.MTU, true
	}
	return 0, slices.ContainsFunc(n.below(), func(name string) bool {
		below, isThere := interfaceNamed(present, name)
		want, isWanted := wanted.Named(name)
		return isThere && isWanted && wantedMTU(want) < below.mtu() && wantedMTU(want) < n.mtu()
	})
}

// raisesFor reports whether a staged change can be that of a killed run that has raised an MTU: it changes something that an interface of this stack
// is made of, and only the MTU.
func (c changedInterface) raisesFor(present []NetworkInterface, wanted hostspec.Network) bool {
	isOther := func(word string) bool { return word != "mtu" && word != "iface" }
	if slices.ContainsFunc(c.words, isOther) {
		return false
	}
	carries := func(name string) bool {
		have, isThere := carrier(present, wanted, name)
		return isThere && have.Name == c.name
	}
	return slices.ContainsFunc(wanted.Interfaces, func(i hostspec.Interface) bool { return i.MTU != 0 && slices.ContainsFunc(i.Below(), carries) }) ||
		slices.ContainsFunc(present, func(i NetworkInterface) bool {
			return i.isMarked(wanted.Mark()) && slices.ContainsFunc(i.below(), carries)
		})
}
