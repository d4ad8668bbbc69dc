package nodeops

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// etcdMembers are the members of the cluster's etcd, as any control plane lists them: the changed one is asked last, for
// it may be down. There are none when etcd runs nowhere. The error is an etcd that runs and cannot list its members.
func (h Health) etcdMembers(ctx context.Context, changed rolling.Node) ([]*machineapi.EtcdMember, error) {
	var without error
	for _, node := range h.controlPlanes(changed) {
		var members []*machineapi.EtcdMember
		runs := false
		err := h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
			list, err := api.EtcdMemberList(ctx, &machineapi.EtcdMemberListRequest{})
			if err != nil {
				runs = etcdRuns(ctx, api)
				return err
			}
			for _, message := range list.GetMessages() {
				members = append(members, message.GetMembers()...)
			}
			return nil
		})
		if len(members) > 0 {
			return members, nil
		}
		if runs {
			without = errors.Join(without, fmt.Errorf("etcd on %s does not list its members (%w)", node.Name, err))
		}
	}
	return nil, without
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

// etcdRuns tells an etcd without a quorum from one that waits for its bootstrap.
func etcdRuns(ctx context.Context, api *client.Client) bool {
	services, err := api.ServiceInfo(ctx, "etcd")
	return err == nil && slices.ContainsFunc(services, func(s client.ServiceInfo) bool { return s.Service.GetState() == "Running" })
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
