package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func isInCluster(one apitype.ResourceV3) bool { return one.Type.Package() == "kubernetes" }

// apiPatience is the time limit for one answer of the Kubernetes API.
const apiPatience = 10 * time.Second

// whyNoAnswer returns why the Kubernetes API does not answer; empty if it does.
func whyNoAnswer(ctx context.Context, kubeconfig []byte) string {
	if err := status.KubernetesAnswers(ctx, kubeconfig, apiPatience); err != nil {
		return err.Error()
	}
	return ""
}

const (
	// returnPatience is the time limit for the Kubernetes API to answer again after its machines were repaired, and startPatience that
	// after a restore of etcd, when new machines pull its images.
	returnPatience = 3 * time.Minute
	startPatience  = 10 * time.Minute
	returnInterval = 2 * time.Second
)

// AwaitKubernetes waits until the Kubernetes API answers again.
func (s *session) AwaitKubernetes(ctx context.Context) error {
	limit := returnPatience
	if s.restorer.restores() {
		limit = startPatience
	}
	why, err := s.untilKubernetesAnswers(ctx, phase.Addons.String(), limit)
	if err == nil && why != "" {
		err = fmt.Errorf("the machines are as the inventory says, and %s later %s: what is in the cluster was left as it is; see `em-infra status %s`, then run up again",
			limit, why, s.place.Stack)
	}
	return err
}

// untilKubernetesAnswers waits for the Kubernetes API, and returns why it does not answer at the limit; empty if it does.
func (s *session) untilKubernetesAnswers(ctx context.Context, part string, limit time.Duration) (why string, err error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return "", err
	}
	kubeconfig, _, err := state.ClusterCredentials(exported.Deployment)
	if err != nil {
		return "", err
	}
	began := s.clock.Now()
	s.emit(Progress{Part: part, What: fmt.Sprintf("waits for the Kubernetes API, %.0f min at most", limit.Minutes())})
	for {
		why := whyNoAnswer(ctx, []byte(kubeconfig))
		if why == "" || s.clock.Now().Sub(began) > limit {
			return why, nil
		}
		select {
		case <-ctx.Done():
			return why, context.Cause(ctx)
		case <-s.clock.After(returnInterval):
		}
	}
}
