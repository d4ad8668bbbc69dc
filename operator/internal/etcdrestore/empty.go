package etcdrestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// order is an order to wipe the data of a control plane, with the boot in which it was given. Data in another boot is not the data that was to be
// wiped: the control plane has joined others again that were still there.
type order struct {
	since time.Time
	boot  string
}

// orders are those to each control plane, by its name.
type orders map[string]order

// empty wipes the data of etcd on every control plane that answers, all at once: one that is emptied while others still have a quorum would join
// them again. Those that do not answer are left out, unless an earlier run has ordered them to wipe their data.
func (r Restore) empty(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.Limits.Empty)
	defer cancel()
	ordered := orders{}
	for _, name := range r.Ordered {
		ordered[name] = order{} // of another boot: data that it still has is to be deleted at once
	}
	var last error
	ended := poll.Until(bounded, r.Limits.Interval, func(ctx context.Context) (bool, error) {
		left := r.wipe(ctx, Look(ctx, r.Talosconfig, r.ControlPlanes), ordered)
		if bounded.Err() == nil {
			last = left
		}
		return last == nil, nil
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("emptying the control planes: %w", context.Cause(ctx))
	case ended != nil:
		return fmt.Errorf("not every control plane was emptied of its data of etcd (%w): see the consoles of their VMs in Proxmox VE, and reset or stop one that hangs, which is left out while it is off; then run `em-infra etcd restore` again; it goes on from here", last)
	}
	return nil
}

// wipe orders the control planes that have data to wipe it, and returns what is still pending.
func (r Restore) wipe(ctx context.Context, seen []ControlPlane, ordered orders) error {
	var left []error
	for _, node := range seen {
		given, isOrdered := ordered[node.Name]
		switch {
		case node.Data == None, node.Data == Unconfigured, node.Data == Silent && !isOrdered:
			continue
		case node.Data == Some && (!isOrdered || node.Boot != given.boot || time.Since(given.since) >= r.Limits.Again):
			if err := r.wipeOne(ctx, node); err != nil {
				left = append(left, fmt.Errorf("%s: %w", node.Name, err))
				continue
			}
			ordered[node.Name] = order{since: time.Now(), boot: node.Boot}
			r.Say("%s deletes its data of etcd and reboots", node.Name)
		}
		left = append(left, fmt.Errorf("%s has not rebooted yet", node.Name))
	}
	return errors.Join(left...)
}

// wipeOne wipes EPHEMERAL and reboots; the configuration stays. A graceful reset would leave etcd first, which fails without a quorum.
func (r Restore) wipeOne(ctx context.Context, node ControlPlane) error {
	if !r.Emptied {
		if err := r.NoteOrdered(node.Name); err != nil {
			return err
		}
	}
	return nodeops.Ask(ctx, r.Talosconfig, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		return api.ResetGeneric(ctx, &machineapi.ResetRequest{
			Reboot: true, SystemPartitionsToWipe: []*machineapi.ResetPartitionSpec{{Label: constants.EphemeralPartitionLabel, Wipe: true}},
		})
	})
}
