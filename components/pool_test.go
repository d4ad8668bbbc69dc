package components_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

func pooled(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
	pool, err := components.NewPool(ctx, "pool", &components.PoolArgs{
		Name: "k3s-dev", API: apiFixture(),
	}, providers)
	if err != nil {
		return err
	}
	args := templateFixture("vmhost")
	args.Pool = pool
	template, err := components.NewTalosTemplate(ctx, "template", args, providers)
	if err != nil {
		return err
	}
	cluster := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11))
	cluster.Pool, cluster.Templates = pool, []*components.TalosTemplate{template}
	_, err = components.NewTalosCluster(ctx, "k3s-dev", cluster, providers)
	return err
}

func TestThePoolIsThereBeforeWhatBelongsToIt(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, pooled)
	require.NoError(t, err)
	for _, machine := range []string{"template-vm", "k3s-dev-control-1-vm"} {
		registered := r.Named(t, tokenVM, machine)
		require.Equal(t, "k3s-dev", registered.Inputs["poolId"].StringValue())
		require.Contains(t, recorder.ShortURNs(registered.RegisterRPC.GetDependencies()), "pool")
	}
}

func TestInputsOfAPoolAreGolden(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, pooled)
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, tokenCommand, "pool"))
	require.NoError(t, err)
	require.NotContains(t, inputs, "made-up", "the token is a secret")
	golden.Equal(t, "testdata/inputs/pool.json", inputs)
}

func TestAPoolIsRefusedAllAtOnce(t *testing.T) {
	t.Parallel()

	pool := func(args *components.PoolArgs) error {
		return refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
			_, err := components.NewPool(ctx, "pool", args, providers)
			return err
		})
	}
	require.EqualError(t, pool(&components.PoolArgs{}), `pool "pool": Name: name the pool
API.Endpoint: give the URL of the API, e.g. https://vmhost:8006
API.Token: give the API token`)
	require.EqualError(t, pool(&components.PoolArgs{Name: "a b", API: apiFixture()}), `pool "pool": Name: "a b" is not valid in Proxmox VE (a pool's ID: a letter, then letters, digits, -, _ and ., nested with / three deep at most): choose another name`)
	require.EqualError(t, pool(nil), `pool "pool": args: give PoolArgs`)
}
