package etcd

import (
	"fmt"
	"slices"
)

// AlarmKind is a kind of alarm, by etcd's own name.
type AlarmKind string

// The alarms of etcd (api/etcdserverpb/rpc.proto, AlarmType).
const (
	// NoSpace means that the database of a member has reached its quota: etcd takes no writes.
	NoSpace AlarmKind = "NOSPACE"
	// Corrupt means that the data of a member differ from those of the others.
	Corrupt AlarmKind = "CORRUPT"
)

// Alarm is an alarm of a member. All members list all alarms, and they outlive their member.
type Alarm struct {
	Member uint64    `json:"member"`
	Kind   AlarmKind `json:"kind"`
}

// String returns the alarm as a member reports it among its errors (etcd v3.6.8, v3rpc/maintenance.go, Status).
func (a Alarm) String() string { return fmt.Sprintf("memberID:%d alarm:%s ", a.Member, a.Kind) }

// Sizes of the database of a member, in bytes.
const (
	// Quota is etcd's default (server/storage/quota.go, DefaultQuotaBytes).
	Quota = 2 << 30
	// inUse is what an emulated member has in use.
	inUse = 24 << 20
)

// Fill makes the database of a member as large as its quota, most of it free pages, which raises the alarm.
func (r *Registry) Fill(d Data) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if c := r.find(d.Cluster); c != nil && !slices.Contains(c.Full, d.Member) {
		c.Full = append(c.Full, d.Member)
		r.raise(c, Alarm{d.Member, NoSpace})
	}
}

// Damage makes the data of a member differ from those of the others, which raises the alarm.
func (r *Registry) Damage(d Data) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if c := r.find(d.Cluster); c != nil {
		r.raise(c, Alarm{d.Member, Corrupt})
	}
}

func (r *Registry) raise(c *Cluster, alarm Alarm) {
	if !slices.Contains(c.Alarms, alarm) {
		c.Alarms = append(c.Alarms, alarm)
		r.wake()
	}
}

// Alarms returns the alarms of a cluster, as any of its members lists them. Without a quorum the error is ErrNoLeader.
func (r *Registry) Alarms(cluster uint64) ([]Alarm, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(cluster)
	if err != nil {
		return nil, err
	}

	return slices.Clone(c.Alarms), nil
}

// Disarm ends all alarms of a cluster and returns them. A member whose database still has the size of its quota raises its alarm again
// with the next write, which Kubernetes makes at once.
func (r *Registry) Disarm(cluster uint64) ([]Alarm, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	c, err := r.led(cluster)
	if err != nil {
		return nil, err
	}

	disarmed := c.Alarms
	c.Alarms = nil

	for _, member := range c.Full {
		r.raise(c, Alarm{member, NoSpace})
	}

	r.wake()

	return disarmed, nil
}

// Defragment frees the free pages of a member that runs. Its alarm stays until it is disarmed.
func (r *Registry) Defragment(d Data) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	c := r.find(d.Cluster)
	if c == nil || c.index(d.Member) < 0 || !r.running[d] {
		return ErrMemberNotFound
	}

	c.Full = slices.DeleteFunc(c.Full, func(member uint64) bool { return member == d.Member })

	return nil
}

// sizes returns the size of a member's database and how much of it is in use.
func (c *Cluster) sizes(member uint64) (total, used int64) {
	if slices.Contains(c.Full, member) {
		return Quota, inUse
	}

	return inUse, inUse
}
