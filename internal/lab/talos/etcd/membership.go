package etcd

import (
	"net/netip"
	"slices"
)

// Members returns the member list of the cluster. Without a quorum the error is ErrNoLeader.
func (r *Registry) Members(cluster uint64) ([]Member, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(cluster)
	if err != nil {
		return nil, err
	}

	return slices.Clone(c.Members), nil
}

// AddLearner adds a node as a member without a vote, and returns the data directory with which it joins. A member of the same
// name has lost its data; Talos removes it first (services/etcd.go, addMember).
func (r *Registry) AddLearner(cluster uint64, name string, addr netip.Addr) (Data, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(cluster)
	if err != nil {
		return Data{}, err
	}

	for _, m := range slices.Clone(c.Members) {
		if m.Name == name {
			if err := r.remove(c, m.ID); err != nil {
				return Data{}, err
			}
		}
	}

	if err := r.mayAddLearner(c, addr); err != nil {
		return Data{}, err
	}

	c.Changes++
	r.births++
	member := Member{ID: identifier(addr, c.ID, r.births), Address: addr, Learner: true}
	c.Members = append(c.Members, member)
	r.wake()

	return Data{Cluster: c.ID, Member: member.ID}, nil
}

func (r *Registry) mayAddLearner(c *Cluster, addr netip.Addr) error {
	for _, m := range c.Members {
		switch {
		case m.Address == addr:
			return ErrPeerURLExists
		case m.Learner:
			return ErrTooManyLearners
		case !r.running[Data{c.ID, m.ID}]:
			return ErrUnhealthy
		}
	}

	return nil
}

// Publish sets the name of a started member in the member list.
func (r *Registry) Publish(d Data, name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(d.Cluster)
	if err != nil {
		return err
	}

	i := c.index(d.Member)
	if i < 0 {
		return ErrMemberNotFound
	}

	c.Members[i].Name = name
	r.wake()

	return nil
}

// Promote makes a running learner a voting member.
func (r *Registry) Promote(d Data) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(d.Cluster)
	if err != nil {
		return err
	}

	i := c.index(d.Member)

	switch {
	case i < 0:
		return ErrMemberNotFound
	case !c.Members[i].Learner:
		return ErrNotLearner
	case !r.running[d]:
		return ErrLearnerNotReady
	}

	c.Members[i].Learner = false
	c.Changes++
	r.wake()

	return nil
}

// Remove removes a member from the cluster.
func (r *Registry) Remove(cluster, member uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(cluster)
	if err != nil {
		return err
	}

	return r.remove(c, member)
}

func (r *Registry) remove(c *Cluster, member uint64) error {
	i := c.index(member)
	if i < 0 {
		return ErrMemberNotFound
	}

	if err := r.mayRemove(c, c.Members[i]); err != nil {
		return err
	}

	c.Members = slices.Delete(c.Members, i, i+1)
	c.Changes++
	r.elect(c)
	r.wake()

	return nil
}

// mayRemove protects the quorum, as etcd's mayRemoveMember and IsReadyToRemoveVotingMember do.
func (r *Registry) mayRemove(c *Cluster, leaving Member) error {
	if leaving.Learner {
		return nil
	}

	voters, started, active := 0, 0, 0

	for _, m := range c.Members {
		if m.Learner {
			continue
		}

		if r.running[Data{c.ID, m.ID}] {
			active++
		}

		if m.ID == leaving.ID {
			continue
		}

		voters++

		if m.Name != "" {
			started++
		}
	}

	switch {
	case started < voters/2+1:
		return ErrNotEnoughStarted
	case !r.running[Data{c.ID, leaving.ID}]:
		return nil // a member that is down does not count for the active quorum
	case active-1 < 1+voters/2:
		return ErrUnhealthy
	default:
		return nil
	}
}

func (c *Cluster) index(member uint64) int {
	return slices.IndexFunc(c.Members, func(m Member) bool { return m.ID == member })
}
