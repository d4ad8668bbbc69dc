package nodeops

import (
	"context"
	"errors"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// EtcdMember is one member of the cluster's etcd.
type EtcdMember struct {
	// ID is the number by which etcd knows it.
	ID uint64 `json:"-"`
	// Name is the hostname of its node; empty for a member that has not started yet.
	Name string `json:"name"`
	// Address of its node.
	Address string `json:"address"`
	// Learner is whether the member is a learner, which has no vote yet.
	Learner bool `json:"learner,omitempty"`
	// Problem is why it does not count; empty for one that does.
	Problem string `json:"problem,omitempty"`
	// Alarmed is whether its problem is an alarm of etcd, which does not end by waiting.
	Alarmed bool `json:"-"`
}

// Members returns the members of the cluster's etcd from the first control plane that answers, and checks the health of each. It returns none when
// etcd runs on no node. It returns an error if etcd runs but cannot list its members.
func (h Health) Members(ctx context.Context) ([]EtcdMember, error) {
	list, err := h.etcdMembers(ctx, rolling.Node{})
	if err != nil {
		return nil, err
	}
	members := make([]EtcdMember, len(list))
	for i, listed := range list {
		address, err := memberAddress(listed)
		if err != nil {
			return nil, err
		}
		members[i] = EtcdMember{ID: listed.GetId(), Name: listed.GetHostname(), Address: address, Learner: listed.GetIsLearner()}
		if err := h.askEtcd(ctx, address, votes); err != nil {
			var alarm *alarmError
			members[i].Problem, members[i].Alarmed = err.Error(), errors.As(err, &alarm)
		}
	}
	return members, nil
}

// IsMemberGone reports whether etcd was asked to remove a member that it does not have, as after another client has removed it.
func IsMemberGone(err error) bool {
	return err != nil && strings.Contains(err.Error(), "member not found")
}
