package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// CheckNAS implements [destroyStorage].
func (d destroyTarget) CheckNAS(ctx context.Context) error {
	exported, err := d.state.Seen(ctx)
	if err != nil {
		return err
	}
	return checkNAS(ctx, exported.Deployment, d.place.Stack)
}

// checkNAS refuses a destroy that deletes something on a box which does not answer or refuses the login. It connects as the engine will: with what
// the state has, also if the inventory has no storage or no key any more. stack is the option of the command that names the stack.
func checkNAS(ctx context.Context, deployment apitype.DeploymentV3, stack string) error {
	for provider := range state.DeletesOnNAS(deployment) {
		connection, err := connectionOf(provider)
		if err != nil {
			return err
		}
		away := preflight.Reach(ctx, preflight.Box{Connection: connection})
		switch isSilent := errors.Is(away, truenas.ErrNoAnswer); {
		case away == nil, isSilent && truenas.IsGoneForGood(connection.Endpoint):
		case isSilent:
			return refused(fmt.Errorf("%w%s", away, truenas.OrGoneForGood(connection.Endpoint)))
		default:
			return refused(fmt.Errorf("%w; a destroy connects with what is in the state: `em-infra up %s` takes a new key or fingerprint of the inventory over", away, stack))
		}
	}
	return nil
}

// connectionOf returns the connection of a provider of TrueNAS in a state with its secrets in clear.
func connectionOf(provider *apitype.ResourceV3) (truenas.Connection, error) {
	plain, err := propertymap.Unseal(provider.Inputs)
	if err != nil {
		return truenas.Connection{}, err
	}
	inputs, _ := plain.(map[string]any)
	return truenas.Connection{
		Endpoint: propertymap.Text(inputs, "endpoint"), Fingerprint: propertymap.Text(inputs, "fingerprint"), CA: propertymap.Text(inputs, "ca"),
		Username: propertymap.Text(inputs, "username"), APIKey: propertymap.Text(inputs, "apiKey"),
	}, nil
}
