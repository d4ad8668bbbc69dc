// Package etcdrestore brings the etcd of a cluster back from a snapshot: the control planes are emptied, etcd starts on one of them
// from the snapshot, and the others join it.
package etcdrestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// Restore is a restore of etcd. It asks the control planes before each step, so it can run again after it was killed.
type Restore struct {
	// Talosconfig of the cluster's administrator. Secret. Required.
	Talosconfig []byte
	// ControlPlanes of the cluster. Required.
	ControlPlanes []rolling.Node
	// On is the control plane on which etcd starts from the snapshot. Required.
	On rolling.Node
	// Snapshot returns the snapshot from its beginning, with its checksum at its end. Secret. Required.
	Snapshot func() (io.Reader, error)
	// Emptied is whether a run before this one has emptied the control planes: data that On has now is that of the snapshot.
	Emptied bool
	// Ordered are the control planes that a run before this one has ordered to delete their data: one that does not answer is waited for.
	Ordered []string
	// NoteOrdered is called before a control plane is ordered to do so. Required.
	NoteOrdered func(name string) error
	// NoteEmptied is called when the control planes are emptied, before any has data of the snapshot. Required.
	NoteEmptied func() error
	// Say receives a message for each step. Required.
	Say func(format string, args ...any)
	// Limits of the waits. Default: those of each field.
	Limits Limits
}

// Limits are the longest times to wait.
type Limits struct {
	// Empty is how long the control planes may take to reboot with empty data directories. Default: 10 minutes.
	Empty time.Duration
	// Start is how long etcd may take to work with the data of the snapshot. Default: 10 minutes, in which its image is pulled.
	Start time.Duration
	// Join is how long the other control planes may take to become members that vote. Default: 15 minutes.
	Join time.Duration
	// Again is the time after which an order that had no effect is given again. Default: 2 minutes.
	Again time.Duration
	// Interval between two looks. Default: 1 second.
	Interval time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Empty = cmp.Or(l.Empty, 10*time.Minute)
	l.Start = cmp.Or(l.Start, 10*time.Minute)
	l.Join = cmp.Or(l.Join, 15*time.Minute)
	l.Again = cmp.Or(l.Again, 2*time.Minute)
	l.Interval = cmp.Or(l.Interval, time.Second)
	return l
}

// uploadTimeout bounds the transfer of a snapshot, as that in the other direction.
const uploadTimeout = 10 * time.Minute

// Run empties the control planes and starts etcd on one of them with the data of the snapshot. It returns when that etcd works. The
// error states what failed and what to do.
func (r Restore) Run(ctx context.Context) error {
	r.Limits = r.Limits.withDefaults()
	if !r.Emptied {
		if err := r.empty(ctx); err != nil {
			return err
		}
		if err := r.NoteEmptied(); err != nil {
			return err
		}
	}
	return r.recover(ctx)
}

// recover starts etcd on the control plane with the data of the snapshot, unless it has that already.
func (r Restore) recover(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, r.Limits.Start)
	defer cancel()
	var (
		ordered    time.Time
		isUploaded bool
		last       error
	)
	ended := poll.Until(bounded, r.Limits.Interval, func(ctx context.Context) (done bool, err error) {
		seen := lookAt(ctx, r.Talosconfig, r.On)
		switch {
		case bounded.Err() != nil:
			return false, nil // what was seen before counts
		case seen.Data == Some:
			last = r.works(ctx)
			return last == nil, nil
		case seen.Data == Silent:
			last = seen.Problem
			return false, nil
		case seen.Data == Unconfigured:
			last = errors.New("it is in maintenance mode")
			return false, nil
		}
		if !ordered.IsZero() {
			if last = r.failure(ctx); last != nil {
				return false, last
			}
		}
		if !ordered.IsZero() && time.Since(ordered) < r.Limits.Again {
			last = errors.New("its etcd starts from the snapshot")
			return false, nil
		}
		if !isUploaded || !ordered.IsZero() {
			if last = r.upload(bounded); last != nil {
				return false, nil
			}
			isUploaded = true
		}
		if last = r.bootstrap(bounded); last == nil {
			ordered = time.Now()
		}
		return false, nil
	})
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("restoring etcd on %s: %w", r.On.Name, context.Cause(ctx))
	case ended != nil:
		return r.unfinished(last)
	}
	r.Say("etcd works on %s with the data of the snapshot", r.On.Name)
	return nil
}

// unfinished returns the error of a restore that ends before etcd works, and why it did not.
func (r Restore) unfinished(why error) error {
	reason, remedy := "nothing was seen", "see the console of its VM in Proxmox VE"
	if why != nil {
		reason = why.Error()
	}
	switch {
	case errors.Is(why, nodeops.ErrUntimely):
		reason, remedy, _ = strings.Cut(reason, ": ")
	case strings.Contains(reason, "time is not in sync"): // Talos v1.12, v1alpha1_server.go, Bootstrap
		remedy = "see that it reaches the servers of network.timeServers (UDP 123)"
	}
	return fmt.Errorf("etcd on %s does not work with the data of the snapshot (%s): %s, then run `em-infra etcd restore` again; it goes on from here", r.On.Name, reason, remedy)
}

// upload sends the snapshot. One that is there from a run before is replaced.
func (r Restore) upload(ctx context.Context) error {
	snapshot, err := r.Snapshot()
	if err != nil {
		return err
	}
	err = nodeops.AskFor(ctx, uploadTimeout, r.Talosconfig, r.On.Address.String(), func(ctx context.Context, api *client.Client) error {
		_, err := api.EtcdRecover(ctx, snapshot)
		return err
	})
	if err == nil {
		r.Say("the snapshot is on %s", r.On.Name)
	}
	return err
}

// bootstrap has etcd start with the snapshot. Talos refuses it until its services run.
func (r Restore) bootstrap(ctx context.Context) error {
	return nodeops.Ask(ctx, r.Talosconfig, r.On.Address.String(), func(ctx context.Context, api *client.Client) error {
		return api.Bootstrap(ctx, &machineapi.BootstrapRequest{RecoverEtcd: true})
	})
}

// failure returns why etcd has not started from the snapshot; nil while it may still start, or if that is not known.
func (r Restore) failure(ctx context.Context) error {
	var failed string
	err := nodeops.Ask(ctx, r.Talosconfig, r.On.Address.String(), func(ctx context.Context, api *client.Client) error {
		services, err := api.ServiceInfo(ctx, "etcd")
		for _, service := range services {
			if events := service.Service.GetEvents().GetEvents(); service.Service.GetState() == "Failed" && len(events) > 0 {
				failed = events[len(events)-1].GetMsg()
			}
		}
		return err
	})
	if err != nil || failed == "" {
		return nil //nolint:nilerr // it is asked again
	}
	return errors.New(strings.TrimPrefix(failed, "Failed to run pre stage: "))
}

// works returns why the member of the control plane does not count.
func (r Restore) works(ctx context.Context) error {
	members, err := nodeops.Health{Talosconfig: r.Talosconfig, Nodes: []rolling.Node{r.On}}.Members(ctx)
	if err != nil {
		return err
	}
	for _, member := range members {
		switch {
		case member.Name != r.On.Name:
		case member.Problem != "":
			return errors.New(member.Problem)
		default:
			return nil
		}
	}
	return errors.New("it is not in its own list of members yet")
}
