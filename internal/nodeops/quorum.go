package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// etcdMembers are the members of the cluster's etcd, as any control plane lists them: the changed one is asked last, for
// it may be down. There are none when etcd runs nowhere. The error is of those that are there and do not say.
func (h Health) etcdMembers(ctx context.Context, changed rolling.Node) ([]*machineapi.EtcdMember, error) {
	var problems []error
	for _, node := range h.controlPlanes(changed) {
		members, err := h.membersListedBy(ctx, node)
		if len(members) > 0 {
			return members, nil
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
		}
	}
	return nil, errors.Join(problems...)
}

// membersListedBy has no members and no error of a control plane that is off, in maintenance mode, or waits for the
// bootstrap. One that runs and is silent, or does not take the credentials, say because they have expired, may have all to
// lose.
func (h Health) membersListedBy(ctx context.Context, node rolling.Node) (members []*machineapi.EtcdMember, err error) {
	address := node.Address.String()
	answers, runs := false, false
	err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) error {
		list, err := api.EtcdMemberList(ctx, &machineapi.EtcdMemberListRequest{})
		if err != nil {
			answers, runs = etcdState(ctx, api)
			return err
		}
		for _, message := range list.GetMessages() {
			members = append(members, message.GetMembers()...)
		}
		return nil
	})
	switch {
	case err == nil || errors.Is(err, ErrTalosconfig):
		return members, err
	case runs:
		return nil, fmt.Errorf("etcd does not list its members (%w)", err)
	case answers || isInMaintenance(ctx, address):
		return nil, nil
	case Listens(ctx, address):
		return nil, err
	default:
		off, err := h.isOff(ctx, node)
		if err == nil && !off {
			err = fmt.Errorf("its machine runs, but nothing answers at %s: make a route to it from here, or reset its VM in Proxmox VE if its console shows that it hangs", address)
		}
		return nil, err
	}
}

// isOff reports whether a node is known to be switched off. Its silence alone says nothing: it may be the network's.
func (h Health) isOff(ctx context.Context, node rolling.Node) (bool, error) {
	if h.Runs == nil || Listens(ctx, node.Address.String()) {
		return false, nil
	}
	runs, err := h.Runs(ctx, node)
	if err != nil {
		return false, fmt.Errorf("it is silent, and whether its machine runs is not known: %w", err)
	}
	return !runs, nil
}

// Listens reports whether there is a Talos API at an address, whatever it says.
func Listens(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: callTimeout}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(constants.ApidPort)))
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was sent
	return true
}

// controlPlanes are those of the cluster, the changed one last.
func (h Health) controlPlanes(changed rolling.Node) []rolling.Node {
	var first, last []rolling.Node
	for _, node := range h.Nodes {
		switch {
		case !node.ControlPlane:
		case node.Name == changed.Name:
			last = append(last, node)
		default:
			first = append(first, node)
		}
	}
	return append(first, last...)
}

// etcdState tells an etcd without a quorum, which runs, from one that waits for its bootstrap.
func etcdState(ctx context.Context, api *client.Client) (answers, runs bool) {
	services, err := api.ServiceInfo(ctx, "etcd")
	return err == nil, slices.ContainsFunc(services, func(s client.ServiceInfo) bool { return s.Service.GetState() == "Running" })
}

// quorumWithout says which other member of etcd is not there, has no vote, or knows no leader.
func (h Health) quorumWithout(ctx context.Context, members []*machineapi.EtcdMember, changed rolling.Node) error {
	var problems []error
	for _, member := range members {
		address, err := memberAddress(member)
		if err != nil {
			return err
		}
		if member.GetHostname() == changed.Name || address == changed.Address.String() {
			continue
		}
		if err := h.ask(ctx, address, votes); err != nil {
			problems = append(problems, fmt.Errorf("etcd member on %s: %w", address, err))
		}
	}
	return errors.Join(problems...)
}

// memberAddress is where the node of a member answers: peers are reached by the nodes' own addresses (F27).
func memberAddress(member *machineapi.EtcdMember) (string, error) {
	if len(member.GetPeerUrls()) > 0 {
		if peer, err := url.Parse(member.GetPeerUrls()[0]); err == nil && peer.Hostname() != "" {
			return peer.Hostname(), nil
		}
	}
	return "", fmt.Errorf("etcd member %q has no peer address", member.GetHostname())
}

// votes says why the node's own etcd member does not count.
func votes(ctx context.Context, api *client.Client) error {
	status, err := api.EtcdStatus(ctx)
	if err != nil {
		return err
	}
	for _, message := range status.GetMessages() {
		member := message.GetMemberStatus()
		switch {
		case member.GetIsLearner():
			return errors.New("its etcd member is a learner, without a vote yet")
		case len(member.GetErrors()) > 0:
			return fmt.Errorf("its etcd member reports %s", member.GetErrors()[0])
		case member.GetLeader() == 0:
			return errors.New("its etcd member knows no leader")
		}
	}
	return nil
}
