package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// ControlPlane is a control plane to remove: its member leaves etcd before the machine is deleted.
type ControlPlane struct {
	Node
	// Stay are the control planes that the cluster has after the run; this one is among them, perhaps at another address, if its
	// machine is replaced. Required.
	Stay []rolling.Node
	// Successor is the name of the control plane in Stay that has its VMID or address under another name. It is created after this one is gone, so
	// the removal does not wait for it. Default: empty, none.
	Successor string
	// Leave are the names of the control planes that are removed in the same run. If one of them is dead, its member may have to be removed before
	// this one can leave. Default: none.
	Leave []string
	// Limits of the waits. Default: those of each field.
	Limits Limits
}

// Limits are the longest times to wait.
type Limits struct {
	// Spare is how long etcd may take until it can do without the member, as while another one joins. Default: 20 minutes, in which a
	// machine that was replaced before is created and joins.
	Spare time.Duration
	// Answer is how long it may take until the Kubernetes API of another control plane answers, and how long it may refuse the Lease.
	// Default: 10 minutes, in which one that has just joined pulls its images.
	Answer time.Duration
	// Leave is how long the member may take to leave. Default: 6 minutes; Talos itself tries for 5 (v1alpha1_server.go,
	// EtcdLeaveCluster).
	Leave time.Duration
	// Gone is how long another control plane may go on listing the member. Default: 30 seconds, in which another leader is elected.
	Gone time.Duration
	// Interval between two looks at etcd. Default: 1 second.
	Interval time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Spare = cmp.Or(l.Spare, 20*time.Minute)
	l.Answer = cmp.Or(l.Answer, 10*time.Minute)
	l.Leave = cmp.Or(l.Leave, 6*time.Minute)
	l.Gone = cmp.Or(l.Gone, 30*time.Second)
	l.Interval = cmp.Or(l.Interval, interval)
	return l
}

// StayVariable is the environment variable in which em-infra passes [ControlPlane.Stay] to the removal, as NAME=ADDRESS and separated
// by commas. The engine alone does not know which control planes stay.
const StayVariable = "EM_INFRA_CONTROL_PLANES"

// SuccessorsVariable is the environment variable in which em-infra passes [ControlPlane.Successor] of each control plane that has one, as
// NAME=SUCCESSOR and separated by commas.
const SuccessorsVariable = "EM_INFRA_SUCCEEDED_CONTROL_PLANES"

// LeaveVariable is the environment variable in which em-infra passes [ControlPlane.Leave], separated by commas.
const LeaveVariable = "EM_INFRA_LEAVING_CONTROL_PLANES"

// Remove removes the control plane: when etcd can do without its member, the node is drained, its member hands on the leadership and leaves, another
// control plane confirms it, and the node is reset, turned off and its Node deleted. If the node is dead, another control plane removes its member.
// Remove refuses a node whose kubelet reports while its Talos API cannot be reached, because its member works. One control plane leaves at a time, no
// matter which run removes it. After a failure Remove can run again and resumes. The error states what failed and what to do.
func (c ControlPlane) Remove(ctx context.Context) error {
	c.Limits = c.Limits.withDefaults()
	others, err := c.others()
	if err != nil {
		return err
	}
	spare, cancel := context.WithTimeout(ctx, c.Limits.Spare)
	defer cancel()
	for {
		api, err := c.awaitClientset(ctx, addressesOf(others))
		if err != nil {
			return err
		}
		before, err := c.awaitSpare(ctx, spare, others)
		if err != nil {
			return err
		}
		if before == nil {
			err = c.alone(ctx, api, func(ctx context.Context) error { return c.removeNow(ctx, others) })
			if !errors.Is(err, errNotSpared) {
				return err
			}
		} else if err := c.alone(ctx, api, func(ctx context.Context) error { return c.expelBefore(ctx, others, *before) }); err != nil {
			return err
		}
		c.Leave = without(c.Leave, before)
	}
}

// removeNow removes the control plane while no other one is removed. It returns [errNotSpared], and the node is untouched, if etcd can
// no longer do without its member: another one was removed first.
func (c ControlPlane) removeNow(ctx context.Context, others nodeops.Health) error {
	api, err := c.kubernetes(ctx, addressesOf(others))
	if err != nil {
		return err
	}
	defer api.Close()
	seen, err := c.look(ctx, api)
	if err != nil {
		return err
	}
	if seen == unreachable {
		return fmt.Errorf("%s is untouched, because its Talos API at %s cannot be reached from here although its kubelet reports: run where port %d can be reached, or stop its machine, then run `em-infra up` again", c.Name, c.talosAPI(), constants.ApidPort)
	}
	_, own, problem := c.spared(ctx, others)
	if problem != nil {
		return errNotSpared
	}
	if seen == answers {
		err = c.leave(ctx, api, others, own)
	} else {
		err = c.bury(ctx, others, own)
	}
	if err != nil {
		return err
	}
	return c.forget(ctx, api)
}

// others returns the other control planes: those that stay, and the endpoints in the credentials, which date from the last change of the node. The
// names of these endpoints are not known, and not needed.
func (c ControlPlane) others() (nodeops.Health, error) {
	others := nodeops.Health{Talosconfig: c.Talosconfig}
	for _, stays := range c.Stay {
		if !c.isOwn(stays.Name) {
			others.Nodes = append(others.Nodes, stays)
		}
	}
	return others.AndEndpoints(c.Address)
}

// isOwn reports whether a name is that of the node, or of the one that is made in its place.
func (c ControlPlane) isOwn(name string) bool {
	return name == c.Name || c.Successor != "" && name == c.Successor
}

func addressesOf(others nodeops.Health) []string {
	var addresses []string
	for _, node := range others.Nodes {
		addresses = append(addresses, node.Address.String())
	}
	return addresses
}

// leave drains the node, takes its member out of etcd, if it still has one, and resets it. A member whose etcd does not work cannot leave by
// itself: Talos knows its ID only while its etcd is healthy (talos v1.12.0, controllers/etcd/member.go).
func (c ControlPlane) leave(ctx context.Context, api *nodeops.Kubernetes, others nodeops.Health, own *nodeops.EtcdMember) error {
	if err := c.drain(ctx, api); err != nil {
		return err
	}
	var err error
	switch {
	case own == nil: // it has left before
	case own.Problem != "":
		c.say("warning: the etcd of %s does not work (%s): its member is removed by another control plane", c.Name, own.Problem)
		err = c.expel(ctx, others, *own)
	default:
		err = c.leaveEtcd(ctx, others, *own)
	}
	if err != nil {
		return err
	}
	c.reset(ctx) // without a pause: a node that reboots now would join again
	return nil
}

func (c ControlPlane) leaveEtcd(ctx context.Context, others nodeops.Health, own nodeops.EtcdMember) error {
	var to string
	err := nodeops.Ask(ctx, c.Talosconfig, c.Address, func(ctx context.Context, api *client.Client) (err error) {
		to, err = nodeops.HandOnLeadership(ctx, api)
		return err
	})
	if err == nil && to != "" {
		c.say("%s has handed the leadership of etcd to %s", c.Name, to)
	}
	if err == nil {
		err = nodeops.AskFor(ctx, c.Limits.Leave, c.Talosconfig, c.Address, func(ctx context.Context, api *client.Client) error {
			err := api.EtcdLeaveCluster(ctx, &machineapi.EtcdLeaveClusterRequest{})
			if status.Code(err) == codes.DeadlineExceeded || errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("it has tried for %s", poll.InWords(c.Limits.Leave))
			}
			return err
		})
	}
	gone, seen := c.awaitGone(ctx, others, own)
	switch {
	case gone:
		c.say("the member of %s has left etcd", c.Name)
		return nil
	case err != nil:
		return fmt.Errorf("the member of %s does not leave etcd (%w): see `em-infra status`, mend that, then run `em-infra up` again", c.Name, err)
	default:
		return fmt.Errorf("the member of %s says that it has left etcd, and another control plane still lists it (%v): run `em-infra up` again", c.Name, seen)
	}
}

// awaitGone waits until another control plane no longer lists a member, and reports whether that happened. If not, seen is what was seen last.
func (c ControlPlane) awaitGone(ctx context.Context, others nodeops.Health, own nodeops.EtcdMember) (gone bool, seen error) {
	ctx, cancel := context.WithTimeout(ctx, c.Limits.Gone)
	defer cancel()
	_ = poll.Until(ctx, c.Limits.Interval, func(ctx context.Context) (bool, error) { // what was seen last is returned
		members, err := others.Members(ctx)
		if gone = err == nil && len(members) > 0 && find(members, own.Name, own.Address) == nil; !gone {
			seen = errors.Join(err, fmt.Errorf("it lists %d members", len(members)))
		}
		return gone, nil
	})
	return gone, seen
}

// bury removes the member of a node that is dead, if it still has one.
func (c ControlPlane) bury(ctx context.Context, others nodeops.Health, own *nodeops.EtcdMember) error {
	if own == nil {
		c.say("warning: %s is dead, and no member of etcd any more: it is neither drained nor reset", c.Name)
		return nil
	}
	c.say("warning: %s is dead: its member is removed from etcd by another control plane, and it is neither drained nor reset", c.Name)
	return c.expel(ctx, others, *own)
}

// expel has another control plane remove a member.
func (c ControlPlane) expel(ctx context.Context, others nodeops.Health, own nodeops.EtcdMember) error {
	var problems []error
	for _, other := range others.Nodes {
		err := nodeops.AskEtcd(ctx, c.Talosconfig, other.Address.String(), func(ctx context.Context, api *client.Client) error {
			return api.EtcdRemoveMemberByID(ctx, &machineapi.EtcdRemoveMemberByIDRequest{MemberId: own.ID})
		})
		if err == nil || nodeops.IsMemberGone(err) {
			c.say("the member of %s was removed from etcd", c.Name)
			return nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", other.Name, err))
	}
	return fmt.Errorf("the member of %s cannot be removed from etcd (%w): see `em-infra status`, mend that, then run `em-infra up` again", c.Name, errors.Join(problems...))
}
