package etcd

import "slices"

// Status is what a running member reports about itself and its cluster.
type Status struct {
	Member  Member
	Leader  uint64
	Term    uint64
	Changes uint64
	// Alarms of the whole cluster.
	Alarms []Alarm
	// Size of the member's database and how much of it is in use, in bytes.
	Size, InUse int64
}

// Status returns the status of a member. For a member that does not run, the error is ErrMemberNotFound.
func (r *Registry) Status(d Data) (Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c := r.find(d.Cluster)
	if c == nil || c.index(d.Member) < 0 || !r.running[d] {
		return Status{}, ErrMemberNotFound
	}

	status := Status{Member: c.Members[c.index(d.Member)], Term: c.Term, Changes: c.Changes, Alarms: slices.Clone(c.Alarms)}
	status.Size, status.InUse = c.sizes(d.Member)

	if r.quorum(c) {
		status.Leader = c.Leader
	}

	return status, nil
}

// MoveLeader moves the leadership from this member to the first other running voter, and returns that member's name. It
// returns "" if the member is not the leader.
func (r *Registry) MoveLeader(d Data) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(d.Cluster)
	if err != nil || c.Leader != d.Member {
		return "", err
	}

	for _, m := range c.Members {
		if m.ID != d.Member && !m.Learner && r.running[Data{c.ID, m.ID}] {
			c.Leader = m.ID
			c.Term++
			r.wake()

			return m.Name, nil
		}
	}

	return "", ErrUnhealthy
}

// led returns the cluster if it has a quorum with a leader.
func (r *Registry) led(cluster uint64) (*Cluster, error) {
	c := r.find(cluster)
	if c == nil || !r.quorum(c) {
		return nil, ErrNoLeader
	}

	return c, nil
}

func (r *Registry) quorum(c *Cluster) bool {
	voters, running := 0, 0

	for _, m := range c.Members {
		if m.Learner {
			continue
		}

		voters++

		if r.running[Data{c.ID, m.ID}] {
			running++
		}
	}

	return running >= voters/2+1
}

// elect replaces a leader that left or stopped by the first running voter.
func (r *Registry) elect(c *Cluster) {
	leads := func(m Member) bool { return !m.Learner && r.running[Data{c.ID, m.ID}] }

	if i := c.index(c.Leader); i >= 0 && leads(c.Members[i]) || !r.quorum(c) {
		return
	}

	if i := slices.IndexFunc(c.Members, leads); i >= 0 {
		c.Leader = c.Members[i].ID
		c.Term++
	}
}
