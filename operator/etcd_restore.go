package operator

import (
	"context"

	"github.com/em-infra/em-infra/operator/internal/span"
)

// EtcdRestoreOptions are the options of [Operator.RestoreEtcd].
type EtcdRestoreOptions struct {
	// From is the name of the snapshot. Default: what a control plane still has of etcd's data, else the newest snapshot. It is required
	// while etcd works.
	From string
	// Allow lists the control planes whose data of etcd may be deleted. Default: none.
	Allow []Permission
}

// EtcdRestored is a restore of etcd.
type EtcdRestored struct {
	// Snapshot that etcd was restored from. What was written after its revision is lost.
	Snapshot EtcdSnapshot
	// On is the control plane that made its data from the snapshot.
	On string
	// Away are the control planes that did not answer, and are no members.
	Away []string
}

// RestoreEtcd brings the etcd of a cluster back from a snapshot: after the loss of its quorum or of all control planes, or to go back
// in time. Machines that are gone are made again first. Otherwise it does what [Operator.Up] does, and is as safe to run again.
func (o *Operator) RestoreEtcd(ctx context.Context, options EtcdRestoreOptions) (*UpResult, error) {
	s, err := o.begin(ctx, needs{lab: true, refresh: true, consent: "restore etcd"})
	if err != nil {
		return nil, err
	}
	return s.bringUp(ctx, s.restorer(&options, nil), span.Whole(), options.Allow)
}
