package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// DefragmentedMember is a member of etcd whose database was rewritten.
type DefragmentedMember = nodeops.Defragmented

// DefragmentEtcd frees the free pages of the databases of etcd, one member at a time and the leader last, and then disarms an alarm about
// space. It calls done after each member. It changes no key.
func (o *Operator) DefragmentEtcd(ctx context.Context, done func(DefragmentedMember)) error {
	etcd, health, err := o.beginWithEtcd(ctx)
	if err != nil {
		return err
	}
	if err := health.DefragmentEtcd(ctx, done); err != nil {
		return etcd.cluster.place.CompleteError(err)
	}
	return etcd.disarm(ctx, health)
}

// DisarmEtcd ends the alarms of etcd, unless a member with corrupt data is still among its members.
func (o *Operator) DisarmEtcd(ctx context.Context) error {
	etcd, health, err := o.beginWithEtcd(ctx)
	if err != nil {
		return err
	}
	return etcd.disarm(ctx, health)
}

func (o *Operator) beginWithEtcd(ctx context.Context) (clusterEtcd, nodeops.Health, error) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return clusterEtcd{}, nodeops.Health{}, err
	}
	etcd := s.etcd()
	health, err := etcd.health(ctx)
	return etcd, health, err
}

// alarmWatch is how long an alarm about space may take to come back: it is raised by a write, and the components of Kubernetes renew
// their leases every two seconds.
const alarmWatch = 5 * time.Second

// disarm ends the alarms, and fails if they come back.
func (e clusterEtcd) disarm(ctx context.Context, health nodeops.Health) error {
	disarmed, err := health.DisarmEtcd(ctx)
	if err != nil || len(disarmed) == 0 {
		return e.cluster.place.CompleteError(err)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.clock.After(alarmWatch):
	}
	back, err := health.EtcdAlarms(ctx, nil)
	if err == nil && len(back) > 0 {
		err = fmt.Errorf("etcd raises the alarm %s again, because its database is still as large as its quota: wait five minutes for Kubernetes to compact it and run `em-infra etcd defragment` again, or delete what fills it: objects can be deleted while the alarm stands", back[0].Kind)
	}
	return e.cluster.place.CompleteError(err)
}

// CheckEtcd implements [upCluster]. With an alarm nothing can be written to Kubernetes, and a run would wait in vain.
func (p platformRun) CheckEtcd(ctx context.Context) error {
	if p.restorer.restores() {
		return nil // its etcd begins without the alarm
	}
	sources, err := p.sources.ofCluster(ctx)
	if err != nil || len(sources.Talosconfig) == 0 {
		return err
	}
	health, err := sources.Health().AndEndpoints("")
	if err != nil {
		return err
	}
	if alarm := health.CheckAlarms(ctx); alarm != nil {
		return refused(p.place.CompleteError(fmt.Errorf("nothing was touched, because %w; then run `em-infra up` again", alarm)))
	}
	return ctx.Err()
}

// errNoTalosconfig means that the stack was never brought up as far as its nodes.
var errNoTalosconfig = errors.New("the stack has no talosconfig: bring the cluster up first with `em-infra up`")
