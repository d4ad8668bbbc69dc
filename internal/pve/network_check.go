package pve

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// check refuses what would cut the operator or machines off.
func (r NetworkRun) check(ctx context.Context, client *proxmox.Client, present []NetworkInterface, staged stagedChanges, plan NetworkPlan) error {
	addresses, err := r.addresses(ctx, client)
	if err != nil {
		return err
	}
	way := wayToAPI(present, addresses)
	if cut := staged.onWay(way, addresses, r.Wanted.Node, r.Allowed); len(cut) > 0 {
		return fmt.Errorf("changes of the network of %[1]s are staged that this run would apply, and a mistake there cuts the operator off: %[2]s. Nothing was touched: revert them on %[1]s under System, Network, or allow them with `em-infra up --allow-interface %[1]s/INTERFACE` once you have another way in, then run up again. They are:\n%[3]s",
			r.Wanted.Node, strings.Join(cut, "; "), staged.diff)
	}
	if cut := plan.cutOff(way, r.Wanted, r.Allowed); len(cut) > 0 {
		return r.refuseCut(cut)
	}
	if err := r.checkDevices(present); err != nil {
		return err
	}
	if err := r.checkMTUs(present); err != nil {
		return err
	}
	for _, name := range plan.Delete {
		users, err := r.usersOf(ctx, present, plan, name)
		if err != nil {
			return err
		}
		if len(users) > 0 {
			return fmt.Errorf("%s on %s is in use by %s, and stays: move them to another interface first, then run again", name, r.Wanted.Node, strings.Join(users, ", "))
		}
	}
	return nil
}

// refuseCut returns the refusal of what would cut the operator off. An interface that is to be deleted for good must first leave the way to the API,
// or it stays.
func (r NetworkRun) refuseCut(cut []string) error {
	what := strings.Join(cut, "; ")
	if r.releases {
		return fmt.Errorf("interfaces that this stack has made on %[1]s are not deleted, since that cuts the operator off: %[2]s: give the address and the default route to another interface with `em-infra up --allow-interface %[1]s/INTERFACE`, or keep the interface by deleting the line %[3]q from its comment on %[1]s under System, Network, and applying that, then run again",
			r.Wanted.Node, what, r.Wanted.Mark())
	}
	return fmt.Errorf("the network of %s is not changed, since a mistake there cuts the operator off: %s: change it at the host's console, or allow it with `em-infra up --allow-interface %[1]s/INTERFACE` once you have another way in",
		r.Wanted.Node, what)
}

// checkDevices refuses a VLAN on an interface that the host would not have (pve-common, PVE/INotify.pm: unable to find parent).
func (r NetworkRun) checkDevices(present []NetworkInterface) error {
	for _, vlan := range r.Wanted.Interfaces {
		if !vlan.IsVLAN() {
			continue
		}
		_, isThere := interfaceNamed(present, vlan.Device)
		if _, isWanted := r.Wanted.Named(vlan.Device); !isThere && !isWanted {
			return fmt.Errorf("the network of %s is not changed, since %s is a VLAN on %s, which the host does not have: correct device of that VLAN, or add %[3]s to bridges, then run again",
				r.Wanted.Node, vlan.Name, vlan.Device)
		}
	}
	return nil
}

// addresses returns the addresses by which the host is reached: those of the endpoint, and those by which the other hosts of the cluster
// reach it.
func (r NetworkRun) addresses(ctx context.Context, client *proxmox.Client) ([]netip.Addr, error) {
	var addresses []netip.Addr
	endpoint, err := url.Parse(Origin(r.Connection.Endpoint))
	if err != nil {
		return nil, ErrEndpoint
	}
	if literal, err := netip.ParseAddr(endpoint.Hostname()); err == nil {
		addresses = append(addresses, literal)
	} else if resolved, err := net.DefaultResolver.LookupNetIP(ctx, "ip", endpoint.Hostname()); err == nil {
		for _, address := range resolved {
			addresses = append(addresses, address.Unmap())
		}
	}
	var members []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		IP   string `json:"ip"`
	}
	if err := client.Get(ctx, "/cluster/status", &members); err != nil {
		return nil, fmt.Errorf("the addresses of the hosts cannot be read (%w): give the token Sys.Audit on /, then run up again", withoutURL(err))
	}
	for _, member := range members {
		if address, err := netip.ParseAddr(member.IP); err == nil && member.Type == "node" && member.Name == r.Wanted.Node {
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}

// usersOf returns the machines and interfaces that use an interface. Proxmox VE itself deletes a bridge with machines on it.
func (r NetworkRun) usersOf(ctx context.Context, present []NetworkInterface, plan NetworkPlan, name string) ([]string, error) {
	reader, err := NewReader(r.Connection)
	if err != nil {
		return nil, err
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, fmt.Errorf("what uses %s cannot be read (%w): give the token VM.Audit on /vms, then run again", name, err)
	}
	var users []string
	for _, guest := range guests {
		if guest.Node != r.Wanted.Node {
			continue
		}
		config, err := reader.GuestConfig(ctx, guest)
		if err != nil {
			return nil, fmt.Errorf("what uses %s cannot be read (VM %d: %w): give the token VM.Audit on /vms, then run again", name, guest.VMID, err)
		}
		if config.IsOn(name) {
			users = append(users, fmt.Sprintf("VM %d (%s)", guest.VMID, guest.Name))
		}
	}
	for _, other := range present {
		below := other.below()
		if _, isWanted := r.Wanted.Named(other.Name); isWanted {
			below = r.wantedBelow(other.Name)
		}
		if other.Name != name && !slices.Contains(plan.Delete, other.Name) && slices.Contains(below, name) {
			users = append(users, "the interface "+other.Name)
		}
	}
	return users, nil
}

// IsOn reports whether a network card of the guest is on a bridge.
func (c GuestConfig) IsOn(bridge string) bool {
	for key, value := range c {
		if strings.HasPrefix(key, "net") && slices.Contains(strings.Split(value, ","), "bridge="+bridge) {
			return true
		}
	}
	return false
}
