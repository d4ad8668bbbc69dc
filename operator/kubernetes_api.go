package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
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

// kubernetesAPI is the Kubernetes API of the cluster in a state.
type kubernetesAPI struct {
	state *stackstate.State
	clock Clock
	emit  func(Event)
}

func (s *session) kubernetesAPI() kubernetesAPI {
	return kubernetesAPI{state: s.state, clock: s.clock, emit: s.emit}
}

// untilAnswers waits for the API, and returns why it does not answer at the limit; empty if it does.
func (k kubernetesAPI) untilAnswers(ctx context.Context, part string, limit time.Duration) (why string, err error) {
	exported, err := k.state.Seen(ctx)
	if err != nil {
		return "", err
	}
	kubeconfig, _, err := state.ClusterCredentials(exported.Deployment)
	if err != nil {
		return "", err
	}
	began := k.clock.Now()
	k.emit(Progress{Part: part, What: fmt.Sprintf("waits for the Kubernetes API, %.0f min at most", limit.Minutes())})
	for {
		why := whyNoAnswer(ctx, []byte(kubeconfig))
		if why == "" || k.clock.Now().Sub(began) > limit {
			return why, nil
		}
		select {
		case <-ctx.Done():
			return why, context.Cause(ctx)
		case <-k.clock.After(returnInterval):
		}
	}
}
