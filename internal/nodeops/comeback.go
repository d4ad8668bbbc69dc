package nodeops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// startTimeout is how long a machine that was made anew may take to its first boot, on slow hardware.
const startTimeout = 10 * time.Minute

// ErrEtcdLost says that a control plane was made anew while no other one has the data of the cluster's etcd.
var ErrEtcdLost = errors.New("no other control plane has the data of the cluster's etcd: restore the VM of one from a backup")

// ForgetFormer makes room for a machine that was made anew under the name and address of a member that is gone: the dead
// member of etcd is removed, if those that are left have a quorum, and its Node is deleted, so that its pods start
// elsewhere. It waits until the new machine waits for its configuration, which shows that nothing else has that address. A
// machine that is a member already is left as it is.
//
// Talos itself removes a member of its own name when it joins (services/etcd.go, addMember), but etcd then takes nobody in
// while another member is dead too. Done before, two that were lost together can come back.
//
// The error is [ErrEtcdLost], or says what is missing and what to do.
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
		return nil // there is no cluster that could know it
	}
	if err := h.removeFormerMember(ctx, members, node); err != nil {
		return err
	}
	return h.deleteFormerNode(ctx, node)
}

// membersInTime gives control planes that were made anew too, and boot, the time to say that they have nothing.
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

// untilItAnswers waits for a machine that was made anew. It reports whether that is a member already.
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

// removeFormerMember takes the node's dead member out of etcd, if there is one. Those that are left must be a majority of
// what there is now, and of what there is then.
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
		case member.GetHostname() == node.Name || address == node.Address.String():
			former = member
		case h.ask(ctx, address, votes) == nil:
			alive = append(alive, address)
		}
	}
	if former == nil {
		return nil
	}
	if len(alive) < voters/2+1 {
		return fmt.Errorf("%s is not joined again, because %d of %d etcd members work, which is no quorum: start the other control planes or restore their VMs from a backup, then run up again", node.Name, len(alive), voters)
	}
	err := h.ask(ctx, alive[0], func(ctx context.Context, api *client.Client) error {
		return api.EtcdRemoveMemberByID(ctx, &machineapi.EtcdRemoveMemberByIDRequest{MemberId: former.GetId()})
	})
	if err != nil && !strings.Contains(err.Error(), "member not found") { // that is another's doing, and all right
		return fmt.Errorf("%s is not joined again, because its dead etcd member %x cannot be removed (%w): run up again", node.Name, former.GetId(), err)
	}
	return nil
}

// deleteFormerNode deletes the Node of the machine that is gone, if there is one. The API may be away for a moment, with
// the control plane that went.
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

// RestartKubelets has the kubelets of all but the new nodes register again in a cluster that was made anew: one that has
// registered once does not do it again before its next start (kubernetes, pkg/kubelet/kubelet_node_status.go,
// registerWithAPIServer). Nodes that do not answer, or are no members yet, register when they start. The error names those
// that refused.
func (h Health) RestartKubelets(ctx context.Context, fresh []string) error {
	var problems []error
	for _, node := range h.Nodes {
		address := node.Address.String()
		if slices.Contains(fresh, node.Name) || !IsAlive(ctx, h.Talosconfig, address) {
			continue
		}
		err := h.ask(ctx, address, func(ctx context.Context, api *client.Client) error {
			_, err := api.ServiceRestart(ctx, "kubelet")
			return err
		})
		if err != nil {
			problems = append(problems, fmt.Errorf("the kubelet of %s does not restart (%w): reboot that node", node.Name, err))
		}
	}
	return errors.Join(problems...)
}

// InMaintenance reports whether the machine at an address waits for a configuration.
func InMaintenance(ctx context.Context, address string) bool {
	return Listens(ctx, address) && isInMaintenance(ctx, address)
}
