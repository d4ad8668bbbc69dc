package nodeops_test

import (
	"context"
	"testing"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// resources are the resources of a node that has prepared some of them and refuses to return one type.
type resources struct {
	state.CoreState

	refused resource.Type
}

func (r resources) Get(ctx context.Context, pointer resource.Pointer, options ...state.GetOption) (resource.Resource, error) {
	if pointer.Type() == r.refused {
		return nil, status.Error(codes.Unavailable, "connection refused")
	}
	return r.CoreState.Get(ctx, pointer, options...)
}

func TestStaticPodsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	prepared := []resource.Resource{k8s.NewAPIServerConfig(), k8s.NewControllerManagerConfig(), k8s.NewSchedulerConfig()}
	files := k8s.NewConfigStatus(k8s.ControlPlaneNamespaceName, k8s.ConfigStatusStaticPodID)
	secrets := k8s.NewSecretsStatus(k8s.ControlPlaneNamespaceName, k8s.StaticPodSecretsStaticPodID)
	for _, test := range []struct {
		name    string
		there   []resource.Resource
		refused resource.Type
		want    string
	}{
		{"all are there", append(prepared, files, secrets), "", ""},
		{"none is there", nil, "", "Talos has not prepared its static pods yet"},
		{"one is missing", append(prepared, files), "", "Talos has not prepared its static pods yet"},
		{"one is refused", append(prepared, files, secrets), k8s.SchedulerConfigType, "rpc error: code = Unavailable desc = connection refused"},
		{"one is refused, and others are missing", nil, k8s.SecretsStatusType, "rpc error: code = Unavailable desc = connection refused"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			core := state.WrapCore(namespaced.NewState(inmem.Build))
			for _, there := range test.there {
				require.NoError(t, core.Create(t.Context(), there.DeepCopy()))
			}
			err := nodeops.ReadStaticPods(t.Context(), state.WrapCore(resources{core, test.refused}))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
