package nodeops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// startTimeout is the longest time for the first boot of a recreated machine, on slow hardware.
const startTimeout = 10 * time.Minute

// ErrEtcdLost is returned when a control plane was recreated and no other control plane has the data of the cluster's etcd.
var ErrEtcdLost = errors.New("no other control plane has the data of the cluster's etcd: restore the VM of one from a backup")

// ForgetFormer prepares the cluster for a recreated machine that has the name and address of a lost member. It removes the
// dead member of etcd if the remaining members have a quorum, and deletes its Node so that its pods start elsewhere. First it
// waits until the new machine is in maintenance mode, which proves that no other machine has that address. If the machine is
// already a member, it changes nothing.
//
// Talos removes a member of the same name when it joins (services/etcd.go, addMember), but etcd accepts no new member while
// another member is dead. With the dead members removed first, two control planes that were lost together can both join
// again.
//
// The error is [ErrEtcdLost], or states what is missing and what to do.
func (h Health) ForgetFormer(ctx context.Context, node rolling.Node) error {
	isMember, err := h.untilItAnswers(ctx, node)
	if err != nil || isMember {
		return err
	}
	members, err := h.membersInTime(ctx, node)
	if err != nil {
		return fmt.Errorf("%s is not joined again, because etcd does not say who its members are (%w): mend that, then run up again", node.Name, err)
	}
	if len(members) == 0 && node.ControlPlane {
		return ErrEtcdLost
	}
	if len(members) == 0 {
		return nil // no cluster exists yet
	}
	if err := h.removeFormerMember(ctx, members, node); err != nil {
		return err
	}
	return h.deleteFormerNode(ctx, node)
}

// membersInTime returns the members of etcd. It retries, so that other recreated control planes have time to boot.
func (h Health) membersInTime(ctx context.Context, node rolling.Node) ([]*machineapi.EtcdMember, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.Patience, 3*time.Minute))
	defer cancel()
	var members []*machineapi.EtcdMember
	var last error
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		members, last = h.etcdMembers(ctx, node)
		return last == nil, nil
	}) != nil {
		return nil, last
	}
	return members, nil
}

// untilItAnswers waits for a recreated machine. It reports whether the machine is already a member.
func (h Health) untilItAnswers(ctx context.Context, node rolling.Node) (isMember bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	address := node.Address.String()
	ended := poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		if isInMaintenance(ctx, address) {
			return true, nil
		}
		isMember = IsAlive(ctx, h.Talosconfig, address)
		return isMember, nil
	})
	switch {
	case ended == nil:
		return isMember, nil
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return false, fmt.Errorf("waiting for %s: %w", node.Name, ended)
	default:
		return false, fmt.Errorf("%s was made anew and its Talos API does not answer %s later: look at the console of its VM in Proxmox VE, then run up again", node.Name, startTimeout)
	}
}

// removeFormerMember removes the node's dead member from etcd, if there is one. The remaining members must be a majority of
// the members before and after the removal.
func (h Health) removeFormerMember(ctx context.Context, members []*machineapi.EtcdMember, node rolling.Node) error {
	var former *machineapi.EtcdMember
	var alive []string
	voters := 0
	for _, member := range members {
		address, err := memberAddress(member)
		if err != nil {
			return err
		}
		if !member.GetIsLearner() {
			voters++
		}
		switch {
		case isMemberOf(member, address, node):
			former = member
		case h.askEtcd(ctx, address, votes) == nil:
			alive = append(alive, address)
		}
	}
	if former == nil {
		return nil
	}
	if len(alive) < voters/2+1 {
		return fmt.Errorf("%s is not joined again, because %d of %d etcd members work, which is no quorum: start the other control planes or restore their VMs from a backup, then run up again", node.Name, len(alive), voters)
	}
	err := h.askEtcd(ctx, alive[0], func(ctx context.Context, api *client.Client) error {
		return api.EtcdRemoveMemberByID(ctx, &machineapi.EtcdRemoveMemberByIDRequest{MemberId: former.GetId()})
	})
	if err != nil && !IsMemberGone(err) {
		return fmt.Errorf("%s is not joined again, because its dead etcd member %x cannot be removed (%w): run up again", node.Name, former.GetId(), err)
	}
	return nil
}

// deleteFormerNode deletes the Node of the lost machine, if there is one. It retries, because the API can be unavailable for
// a moment after a control plane was lost.
func (h Health) deleteFormerNode(ctx context.Context, node rolling.Node) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var last error
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		last = h.deleteNode(ctx, node)
		return last == nil, nil
	}) != nil {
		return fmt.Errorf("%s is not joined again, because the Node of the machine that is gone cannot be deleted (%w): run up again", node.Name, last)
	}
	return nil
}

func (h Health) deleteNode(ctx context.Context, node rolling.Node) error {
	var problems []error
	for _, other := range h.controlPlanes(node) {
		err := h.deleteNodeAt(ctx, other.Address.String(), node.Name)
		if err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", other.Name, err))
	}
	return errors.Join(problems...)
}

func (h Health) deleteNodeAt(ctx context.Context, address, name string) error {
	api, err := kubernetesAt(ctx, h.Talosconfig, address)
	if err != nil {
		return err
	}
	defer api.Close()
	return api.DeleteNode(ctx, name)
}

// RestartKubelets restarts the kubelet of every node except the fresh ones, so that it registers again in a recreated
// cluster: a kubelet registers only once per start (kubernetes, pkg/kubelet/kubelet_node_status.go, registerWithAPIServer).
// It skips nodes that do not answer or are not members yet; they register when they start. The error names each node that
// refused.
func (h Health) RestartKubelets(ctx context.Context, fresh []string) error {
	var problems []error
	for _, node := range h.Nodes {
		if slices.Contains(fresh, node.Name) || !IsAlive(ctx, h.Talosconfig, node.Address.String()) {
			continue
		}
		if err := h.restartKubelet(ctx, node); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// InMaintenance reports whether the machine at an address is in maintenance mode, where it waits for a configuration.
func InMaintenance(ctx context.Context, address string) bool {
	return Listens(ctx, address) && isInMaintenance(ctx, address)
}
