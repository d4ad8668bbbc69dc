package recovering

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Recover cleans up the state after failed and killed runs and reports what it did. It deletes nothing: machines to delete are shown
// with the preview. Only with goingUp it adopts a bootstrap and starts machines.
func (r *Recovery) Recover(ctx context.Context, goingUp bool) error {
	exported, err := r.State.Fresh(ctx)
	if err != nil {
		return err
	}
	used, exported, err := r.machinesAtRest(ctx, exported)
	if err != nil {
		return err
	}
	if recovery.CompleteBootstrap(&exported.Deployment) {
		if err := r.State.Import(ctx, exported); err != nil {
			return err
		}
	}
	if !goingUp {
		return nil
	}
	adopted, err := r.adoptBootstrap(ctx, &exported.Deployment)
	if err != nil {
		return err
	}
	if adopted {
		if err := r.State.Import(ctx, exported); err != nil {
			return err
		}
	}
	if err := r.restartUsed(ctx, exported, used); err != nil {
		return err
	}
	return r.wakeHanging(ctx, exported)
}

// adoptBootstrap adopts the bootstrap of a cluster that is bootstrapped but has no bootstrap in the state (F6).
func (r *Recovery) adoptBootstrap(ctx context.Context, deployment *apitype.DeploymentV3) (bool, error) {
	secrets := state.Unbootstrapped(*deployment)
	if secrets == nil {
		return false, nil
	}
	credentials, err := recovery.CredentialsOf(secrets)
	if err != nil {
		return false, err
	}
	first := r.Inventory.Nodes.ControlPlanes()[0]
	bootstrapped, err := r.Nodes.IsBootstrapped(ctx, nodeops.Credentials(credentials), first.Address.String())
	if err != nil || !bootstrapped {
		return false, err
	}
	recovery.AdoptBootstrap(deployment, r.Bootstrap, first.Address.String())
	r.say("etcd on " + first.Name + " is bootstrapped already: it is adopted")
	return true, nil
}
