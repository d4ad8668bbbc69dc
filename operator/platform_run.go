package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/phase"
)

// platformRun does the part of a run on a platform that concerns its nodes and the Kubernetes API.
type platformRun struct {
	comparison

	restorer    *restorer
	etcd        clusterEtcd
	api         kubernetesAPI
	preparation nodePreparation
	conclusion  conclusion
}

func (s *session) platformRun(checks *hostChecks, restorer *restorer) platformRun {
	sources, etcd := s.sources(), s.etcd()
	return platformRun{
		comparison: s.comparison(), restorer: restorer, etcd: etcd, api: s.kubernetesAPI(),
		preparation: nodePreparation{Operator: s.Operator, sources: sources, etcd: etcd, own: s.own},
		conclusion:  conclusion{Operator: s.Operator, cluster: s.inState(), sources: sources, etcd: etcd, byHand: &checks.byHand},
	}
}

var (
	_ upHost    = (*hostChecks)(nil)
	_ upState   = statePreparation{}
	_ upEngine  = stackChanges{}
	_ upCluster = platformRun{}
	_ upRestore = (*restorer)(nil)
)

// PrepareNodes implements [upCluster].
func (p platformRun) PrepareNodes(ctx context.Context, judged judgement) error {
	if len(judged.Findings) == 0 {
		return nil
	}
	if err := p.preparation.makeRoom(ctx); err != nil {
		return err
	}
	return p.preparation.expelDead(ctx, judged)
}

// AwaitKubernetes implements [upCluster].
func (p platformRun) AwaitKubernetes(ctx context.Context) error {
	limit := returnPatience
	if p.restorer.restores() {
		limit = startPatience
	}
	why, err := p.api.untilAnswers(ctx, phase.Addons.String(), limit)
	if err == nil && why != "" {
		err = fmt.Errorf("the machines are as the inventory says, and %s later %s: what is in the cluster was left as it is; see `em-infra status %s`, then run up again",
			limit, why, p.place.Stack)
	}
	return err
}

// Conclude implements [upCluster].
func (p platformRun) Conclude(ctx context.Context) (*UpResult, error) { return p.conclusion.run(ctx) }
