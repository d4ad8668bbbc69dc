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

// etcdMembers returns the members of etcd from the first control plane that lists them. It asks all of them at the same time, because a silent one
// takes long, except the changed one, which it asks last: that one may be down. If the etcd of the changed one does not start, that is no reason
// against the change, which may be what it needs. It returns no members if etcd runs on no node. The error names the control planes that are up and
// return no list.
func (h Health) etcdMembers(ctx context.Context, changed rolling.Node) ([]*machineapi.EtcdMember, error) {
	nodes := h.controlPlanes(changed)
	others := slices.DeleteFunc(slices.Clone(nodes), func(n rolling.Node) bool { return n.Name == changed.Name })
	members, problems := h.firstList(ctx, others)
	if len(members) > 0 || len(others) == len(nodes) {
		return members, errors.Join(problems...)
	}
	last := nodes[len(others)]
	members, err := h.membersListedBy(ctx, last)
	if len(members) > 0 {
		return members, nil
	}
	if starts := new(startsError); err != nil && !errors.As(err, &starts) {
		problems = append(problems, fmt.Errorf("%s: %w", last.Name, err))
	}
	return nil, errors.Join(problems...)
}

// firstList asks control planes for the members of etcd, and returns the first list that comes. Without one, it returns the problems in the order
// of the control planes.
func (h Health) firstList(ctx context.Context, nodes []rolling.Node) (members []*machineapi.EtcdMember, problems []error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		at      int
		members []*machineapi.EtcdMember
		err     error
	}
	answers, errs := make(chan answer, len(nodes)), make([]error, len(nodes)) // room for those that come after the first
	for at, node := range nodes {
		go func() {
			listed, err := h.membersListedBy(ctx, node)
			answers <- answer{at, listed, err}
		}()
	}
	for range nodes {
		came := <-answers
		if len(came.members) > 0 {
			return came.members, nil
		}
		if came.err != nil {
			errs[came.at] = fmt.Errorf("%s: %w", nodes[came.at].Name, came.err)
		}
	}
	return nil, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// membersListedBy returns neither members nor an error for a control plane that is off, in maintenance mode, or waits for the
// bootstrap. It returns an error for one that runs but does not answer, whose etcd is about to start with its data, or that rejects
// the credentials, e.g. because they have expired: its data may be at risk.
func (h Health) membersListedBy(ctx context.Context, node rolling.Node) (members []*machineapi.EtcdMember, err error) {
	address := node.Address.String()
	var (
		runs   bool
		starts error
	)
	err = h.ask(ctx, address, func(ctx context.Context, api *client.Client) (err error) {
		runs, starts, err = etcdState(ctx, api)
		return err
	})
	switch {
	case runs:
		return h.listMembers(ctx, address)
	case starts != nil:
		return nil, starts
	case err == nil || errors.Is(err, ErrTalosconfig) || ctx.Err() != nil: // what follows needs time that has run out
		return nil, err
	case isInMaintenance(ctx, address):
		return nil, nil
	case Listens(ctx, address):
		return nil, err
	default:
		off, err := h.isSwitchedOff(ctx, node)
		if err == nil && !off {
			err = fmt.Errorf("its machine runs, but nothing answers at %s: make a route to it from here, or reset its VM in Proxmox VE if its console shows that it hangs", address)
		}
		return nil, err
	}
}

// listMembers returns the members that a node with a running etcd lists.
func (h Health) listMembers(ctx context.Context, address string) (members []*machineapi.EtcdMember, err error) {
	err = h.askEtcd(ctx, address, func(ctx context.Context, api *client.Client) error {
		list, err := api.EtcdMemberList(ctx, &machineapi.EtcdMemberListRequest{})
		for _, message := range list.GetMessages() {
			members = append(members, message.GetMembers()...)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("etcd does not list its members (%w)", err)
	}
	return members, err
}

// isOff reports whether a node is known to be switched off. Silence alone does not prove that: the network may be down.
func (h Health) isOff(ctx context.Context, node rolling.Node) (bool, error) {
	if h.Runs == nil || Listens(ctx, node.Address.String()) {
		return false, nil
	}
	return h.isSwitchedOff(ctx, node)
}

// isSwitchedOff is isOff for a node that does not listen.
func (h Health) isSwitchedOff(ctx context.Context, node rolling.Node) (bool, error) {
	if h.Runs == nil {
		return false, nil
	}
	runs, err := h.Runs(ctx, node)
	if err != nil {
		return false, fmt.Errorf("it is silent, and whether its machine runs is not known: %w", err)
	}
	return !runs, nil
}

// Listens reports whether the port of the Talos API is open at an address.
func Listens(ctx context.Context, address string) bool {
	dialer := net.Dialer{Timeout: callTimeout}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(constants.ApidPort)))
	if err != nil {
		return false
	}
	_ = connection.Close() // nothing was sent
	return true
}

// controlPlanes returns the control planes of the cluster, the changed one last.
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

// quorumWithout returns an error for each other etcd member that is unreachable, has no vote, or has no leader.
func (h Health) quorumWithout(ctx context.Context, members []*machineapi.EtcdMember, changed rolling.Node) error {
	var problems []error
	for _, member := range members {
		address, err := memberAddress(member)
		if err != nil {
			return err
		}
		if isMemberOf(member, address, changed) {
			continue
		}
		if err := h.askEtcd(ctx, address, votes); err != nil {
			problems = append(problems, fmt.Errorf("etcd member on %s: %w", address, err))
		}
	}
	return errors.Join(problems...)
}

// keepsMajority returns an error that names the control plane that etcd lacks, if etcd would have no majority while the changed one reboots. etcd has
// an even number of members only while control planes join or leave, and it is then worth waiting for the one that joins.
func (h Health) keepsMajority(members []*machineapi.EtcdMember, changed rolling.Node) error {
	voters := 0
	for _, member := range members {
		if !member.GetIsLearner() {
			voters++
		}
	}
	if find(members, changed) == nil || voters == 1 || voters-1 >= voters/2+1 {
		return nil
	}
	for _, node := range h.controlPlanes(changed) {
		if find(members, node) == nil {
			return fmt.Errorf("etcd has %d members, no majority without %s, and %s is no member yet", voters, changed.Name, node.Name)
		}
	}
	return nil
}

// find returns the member of a node; nil if it has none.
func find(members []*machineapi.EtcdMember, node rolling.Node) *machineapi.EtcdMember {
	for _, member := range members {
		address, _ := memberAddress(member) // empty for a member without one, which is known by its name
		if isMemberOf(member, address, node) {
			return member
		}
	}
	return nil
}

// isMemberOf reports whether a member with an address is that of a node. One that has not started yet has no name.
func isMemberOf(member *machineapi.EtcdMember, address string, node rolling.Node) bool {
	return member.GetHostname() == node.Name || address == node.Address.String()
}

// memberAddress returns the address of a member's node. Peer URLs use the nodes' own addresses (F27).
func memberAddress(member *machineapi.EtcdMember) (string, error) {
	if len(member.GetPeerUrls()) > 0 {
		if peer, err := url.Parse(member.GetPeerUrls()[0]); err == nil && peer.Hostname() != "" {
			return peer.Hostname(), nil
		}
	}
	return "", fmt.Errorf("etcd member %q has no peer address", member.GetHostname())
}

// votes returns why the node's own etcd member does not count for the quorum.
func votes(ctx context.Context, api *client.Client) error { return memberProblem(ctx, api, false) }

// votesApartFromAlarms is votes without the alarms of etcd, which all members report.
func votesApartFromAlarms(ctx context.Context, api *client.Client) error {
	return memberProblem(ctx, api, true)
}

func memberProblem(ctx context.Context, api *client.Client, apartFromAlarms bool) error {
	status, err := api.EtcdStatus(ctx)
	if err != nil {
		return err
	}
	for _, message := range status.GetMessages() {
		member := message.GetMemberStatus()
		if member.GetIsLearner() {
			return errors.New("its etcd member is a learner, without a vote yet")
		}
		for _, reported := range member.GetErrors() {
			alarm := alarmOf(reported)
			switch {
			case alarm == "":
				return fmt.Errorf("its etcd member reports %s", reported)
			case !apartFromAlarms:
				return &alarmError{alarm}
			}
		}
		if member.GetLeader() == 0 {
			return errors.New("its etcd member knows no leader")
		}
	}
	return nil
}

// LeadsEtcd reports whether a control plane leads etcd and other control planes could lead it; false if that is unknown.
func (h Health) LeadsEtcd(ctx context.Context, node rolling.Node) bool {
	if !node.ControlPlane || len(h.controlPlanes(node)) < 2 {
		return false
	}
	leads := false
	err := h.askEtcd(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		status, err := api.EtcdStatus(ctx)
		for _, message := range status.GetMessages() {
			leads = message.GetMemberStatus().GetLeader() == message.GetMemberStatus().GetMemberId()
		}
		return err
	})
	return err == nil && leads
}

// HandOnLeadership gives the leadership of etcd to another member, if this node has it: otherwise the others would have to notice
// first that their leader is gone. It returns the next leader, or nothing.
func HandOnLeadership(ctx context.Context, api *client.Client) (to string, err error) {
	answer, err := api.EtcdForfeitLeadership(ctx, &machineapi.EtcdForfeitLeadershipRequest{})
	if err != nil {
		return "", err
	}
	for _, message := range answer.GetMessages() {
		to = message.GetMember()
	}
	return to, nil
}
