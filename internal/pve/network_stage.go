package pve

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/luthermonson/go-proxmox"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// stage writes the plan to the host's staged interfaces. If it fails half way, what it has staged stays there, and the next run continues. Proxmox VE
// checks the whole set at each call (pve-common, PVE/Network/Interfaces.pm): a port and a default route are on one interface only, and what an
// interface is made of exists and has no lower MTU. So the order is: the MTUs of cards and bonds are raised; interfaces give up what another one is
// to have, and an MTU that becomes too large, each before what is below it; wanted interfaces are written, each after what is below it; unwanted
// interfaces are deleted, each before what is below it.
func (r NetworkRun) stage(ctx context.Context, client *proxmox.Client, present []NetworkInterface, plan NetworkPlan) error {
	if err := r.raise(ctx, client, present, plan.Raise); err != nil {
		return err
	}
	below := func(name string) []string {
		one, _ := interfaceNamed(present, name)
		return one.below()
	}
	for _, name := range slices.Backward(belowFirst(slices.Concat(plan.Change, plan.Delete), below)) {
		have, _ := interfaceNamed(present, name)
		if params := have.yield(present, r.Wanted); params != nil {
			if err := client.Put(ctx, r.pathOf(name), params, nil); err != nil {
				return r.notStaged("changed", name, err)
			}
		}
	}
	for _, name := range belowFirst(slices.Concat(plan.Create, plan.Change), r.wantedBelow) {
		if err := r.write(ctx, client, present, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Backward(belowFirst(plan.Delete, below)) {
		if err := client.Delete(ctx, r.pathOf(name), nil); err != nil {
			return r.notStaged("deleted", name, err)
		}
	}
	return nil
}

// write stages a wanted interface.
func (r NetworkRun) write(ctx context.Context, client *proxmox.Client, present []NetworkInterface, name string) error {
	want, _ := r.Wanted.Named(name)
	params := commented(present, r.Wanted, want).Params()
	have, isThere := interfaceNamed(present, name)
	if !isThere {
		params["iface"] = name
		if err := client.Post(ctx, r.path(""), params, nil); err != nil {
			return r.notStaged("created", name, err)
		}
		return nil
	}
	if unset := have.unset(params); unset != "" {
		params["delete"] = unset
	}
	if err := client.Put(ctx, r.pathOf(name), params, nil); err != nil {
		return r.notStaged("changed", name, err)
	}
	return nil
}

func (r NetworkRun) pathOf(name string) string { return r.path("/" + url.PathEscape(name)) }

func (r NetworkRun) notStaged(what, name string, err error) error {
	return fmt.Errorf("%s cannot be %s on %s (%w), and nothing was applied: correct it in the inventory and run up again, or revert what is staged on %[3]s under System, Network", name, what, r.Wanted.Node, withoutURL(err))
}

// wantedBelow returns the interfaces that a wanted one is to be made of.
func (r NetworkRun) wantedBelow(name string) []string {
	want, _ := r.Wanted.Named(name)
	return want.Below()
}

// belowFirst returns names in an order in which each comes after those of them that are below it.
func belowFirst(names []string, below func(string) []string) []string {
	var ordered []string
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] || !slices.Contains(names, name) {
			return
		}
		seen[name] = true
		for _, one := range below(name) {
			visit(one)
		}
		ordered = append(ordered, name)
	}
	for _, name := range names {
		visit(name)
	}
	return ordered
}

// yield returns the parameters by which the interface gives up the ports and the default routes that another one is to have, and the MTU that is too
// large for what it is made of; nil if it has none of those. A PUT keeps the settings that it does not contain, but not whether the interface has an
// address.
func (n NetworkInterface) yield(present []NetworkInterface, wanted hostspec.Network) map[string]string {
	ports := strings.Fields(n.BridgePorts)
	kept := slices.DeleteFunc(slices.Clone(ports), func(port string) bool { return n.loses(port, wanted) })
	isOfAnother := func(has func(hostspec.Interface) bool) bool {
		return slices.ContainsFunc(wanted.Interfaces, func(other hostspec.Interface) bool { return other.Name != n.Name && has(other) })
	}
	var given []string
	if len(ports) > 0 && len(kept) == 0 {
		given = append(given, "bridge_ports")
	}
	if n.Gateway != "" && isOfAnother(func(other hostspec.Interface) bool { return other.Gateway.IsValid() }) {
		given = append(given, "gateway")
	}
	if n.Gateway6 != "" && isOfAnother(func(other hostspec.Interface) bool { return other.Gateway6.IsValid() }) {
		given = append(given, "gateway6")
	}
	params := map[string]string{"type": n.Type, "cidr": n.CIDR, "cidr6": n.CIDR6, "bridge_ports": strings.Join(kept, " ")}
	mtu, yields := n.yieldMTU(present, wanted)
	switch {
	case yields && mtu == 0:
		given = append(given, "mtu")
	case yields:
		params["mtu"] = strconv.Itoa(mtu)
	case len(given) == 0 && len(kept) == len(ports):
		return nil
	}
	params["delete"] = strings.Join(given, ",")
	maps.DeleteFunc(params, func(_, value string) bool { return value == "" })
	return params
}

// loses reports whether the interface is to lose a port, because another wanted interface is to have it, or because the port is to be a wanted
// interface itself, which may not have an address while it is a port.
func (n NetworkInterface) loses(port string, wanted hostspec.Network) bool {
	for _, other := range wanted.Interfaces {
		if other.Name == n.Name && slices.Contains(other.Ports, port) {
			return false
		}
	}
	return slices.ContainsFunc(wanted.Interfaces, func(other hostspec.Interface) bool {
		return other.Name == port || slices.Contains(other.Ports, port)
	})
}

// deletable are the settings that a PUT keeps unless they are deleted (pve-manager, PVE/API2/Network.pm, update_network).
var deletable = []string{"cidr", "cidr6", "gateway", "gateway6", "mtu", "comments", "bridge_ports", "bridge_vlan_aware"}

// unset returns the settings of the interface that are not among the parameters, as a list for the API.
func (n NetworkInterface) unset(params map[string]string) string {
	have := map[string]bool{
		"cidr": n.CIDR != "", "cidr6": n.CIDR6 != "", "gateway": n.Gateway != "", "gateway6": n.Gateway6 != "", "mtu": n.MTU != "",
		"comments": n.Comments != "", "bridge_ports": n.BridgePorts != "", "bridge_vlan_aware": bool(n.VLANAware),
	}
	var names []string
	for _, name := range deletable {
		if _, given := params[name]; have[name] && !given {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}
