package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
)

// OffError is returned for a guest of a host that is off, or that was removed from the cluster: Proxmox VE lists it, and passes no call on to
// its host.
type OffError struct {
	Host string
	// Removed is whether the cluster has no host of this name any more.
	Removed bool
}

func (e *OffError) Error() string { return "its host " + e.Host + " is " + e.state() }

func (e *OffError) state() string {
	if e.Removed {
		return "no host of the cluster any more"
	}
	return "off"
}

// hostsOff returns the hosts of guests that are off. The status of a guest does not say it: for some minutes Proxmox VE shows the last one that
// its host has sent (pve-manager, PVE/API2Tools.pm, extract_vm_stats and extract_node_stats). A host that was removed from the cluster is in no
// list of hosts, while the configurations of its guests stay in that of guests.
func hostsOff(ctx context.Context, reader pve.Reader, guests []pve.Guest) (map[string]*OffError, error) {
	nodes, err := reader.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	off := map[string]*OffError{}
	for _, guest := range guests {
		off[guest.Node] = &OffError{guest.Node, true}
	}
	for _, node := range nodes {
		if delete(off, node.Name); node.Status == "offline" {
			off[node.Name] = &OffError{node.Name, false}
		}
	}
	return off, nil
}

// configPatience is the time limit for one configuration: a host that hangs leaves time for all else.
const configPatience = 5 * time.Second

// readConfigs reads the configurations of the guests. One that cannot be read is no error: any host of the cluster may be off, and most of its
// guests are not ours. A guest that was deleted since the list was read is left out, and one that was moved is read where it is.
func (s Sources) readConfigs(ctx context.Context, found *Found) error {
	s.readEach(ctx, found, found.Guests)
	refused := slices.DeleteFunc(sorted(found.Unread), func(vmid int) bool { return isSilence(found.Unread[vmid]) })
	if len(refused) > 0 && ctx.Err() == nil {
		guests, err := s.Host.Guests(ctx)
		if err != nil {
			return fmt.Errorf("virtual machines and containers: %w", err)
		}
		s.readEach(ctx, found, found.follow(refused, guests))
	}
	if ctx.Err() != nil {
		return fmt.Errorf("configurations of the guests: %w", context.Cause(ctx))
	}
	return nil
}

// readEach reads the configurations of several hosts at the same time. A host that does not answer is not asked again.
func (s Sources) readEach(ctx context.Context, found *Found, guests []pve.Guest) {
	byHost := map[string][]pve.Guest{}
	for _, guest := range guests {
		byHost[guest.Node] = append(byHost[guest.Node], guest)
	}
	var mu sync.Mutex
	inParallel(sorted(byHost), func(host string) error {
		var silence error
		if off := found.Off[host]; off != nil {
			silence = off
		}
		for _, guest := range byHost[host] {
			config, err := pve.GuestConfig(nil), silence
			if silence == nil {
				config, err = s.readConfig(ctx, guest)
			}
			if isSilence(err) {
				silence = err
			}
			mu.Lock()
			if delete(found.Unread, guest.VMID); err != nil {
				found.Unread[guest.VMID] = err
			} else {
				found.Configs[guest.VMID] = config
			}
			mu.Unlock()
		}
		return nil
	})
}

func (s Sources) readConfig(ctx context.Context, guest pve.Guest) (pve.GuestConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, configPatience)
	defer cancel()
	return s.Host.GuestConfig(ctx, guest)
}

// follow brings the guests with these VMIDs up to date with a newer list, and returns those that were moved.
func (f *Found) follow(vmids []int, newer []pve.Guest) (moved []pve.Guest) {
	var guests []pve.Guest
	for _, guest := range f.Guests {
		at := slices.IndexFunc(newer, func(g pve.Guest) bool { return g.VMID == guest.VMID })
		switch {
		case !slices.Contains(vmids, guest.VMID):
			guests = append(guests, guest)
		case at < 0:
			delete(f.Unread, guest.VMID)
		default:
			if guests = append(guests, newer[at]); newer[at].Node != guest.Node || newer[at].Type != guest.Type {
				moved = append(moved, newer[at])
			}
		}
	}
	f.Guests = guests
	return moved
}

// isSilence reports whether a configuration is not known because its host is off or does not answer.
func isSilence(err error) bool {
	return errors.Is(err, pve.ErrSilent) || errors.As(err, new(*OffError))
}
