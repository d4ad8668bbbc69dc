package operator

import (
	"context"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/apisecrets"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// JoinTokensRotation are the steps of [Operator.RotateJoinTokens], in their order.
var JoinTokensRotation = joinTokensRotation.list()

// JoinTokensCost is what [Operator.RotateJoinTokens] costs the cluster.
const JoinTokensCost = "every node is drained and reboots, one after the other, since Talos takes another machine.token at a boot only; " +
	"with one control plane the Kubernetes API is away while that reboots; " +
	"nodes that have joined stay members"

var joinTokensRotation = secretsRotation{
	what: "join-tokens", purpose: "replace the tokens with which nodes join", renew: newJoinTokens, cost: JoinTokensCost,
	steps: []rotationStep{
		{text: "each control plane has the new tokens, is drained and reboots, one after the other", run: tokensOnControlPlanes},
		{text: "each worker has them, is drained and reboots, one after the other; machine secrets and configurations in the state have them, too", run: tokensOnWorkers, writes: true},
		{text: "the Secret of the former cluster.token is deleted, which Talos leaves in kube-system: no kubelet joins with it any more", run: forgetToken},
	},
}

// RotateJoinTokens replaces machine.token and cluster.token, after consent: the former ones can add no machine any more. After a kill at any point it
// goes on with the same new tokens; until then other operations are refused.
func (o *Operator) RotateJoinTokens(ctx context.Context, options RotationOptions) error {
	return o.rotateSecrets(ctx, joinTokensRotation, options)
}

// newJoinTokens makes the new tokens: machine.token, then cluster.token if the two differ.
func newJoinTokens(exported *engine.Exported, now time.Time) (rotation.Replacements, error) {
	bundle, err := secretsOf(exported)
	if err != nil {
		return nil, err
	}
	tokens, err := bundle.RenewJoinTokens(now)
	made := rotation.Replacements{{Old: tokens.Machine.Old, New: tokens.Machine.New}}
	if tokens.Kubelet != tokens.Machine {
		made = append(made, rotation.Replacement{Old: tokens.Kubelet.Old, New: tokens.Kubelet.New})
	}
	return made, err
}

// tokens returns what is replaced: machine.token and cluster.token.
func (r *secretsRun) tokens() (machine, kubelet rotation.Replacement) {
	all := r.note.Replacements
	return all[0], all[len(all)-1]
}

// joinBy sets the new tokens in a machine configuration.
func (r *secretsRun) joinBy(c *v1alpha1.Config) {
	machine, kubelet := r.tokens()
	c.MachineConfig.MachineToken, c.ClusterConfig.BootstrapToken = machine.New, kubelet.New
}

// tokensOnControlPlanes comes first: a worker gets its certificate of the Talos API from a control plane that has the same machine.token.
func tokensOnControlPlanes(ctx context.Context, r *secretsRun) error {
	return r.roll(ctx, r.only(true), r.joinBy)
}

func tokensOnWorkers(ctx context.Context, r *secretsRun) error {
	return r.roll(ctx, r.only(false), r.joinBy)
}

// forgetToken waits until Talos has made the Secret of the new token.
func forgetToken(ctx context.Context, r *secretsRun) error {
	api, err := r.apiServer(ctx)
	if err != nil {
		return err
	}
	_, kubelet := r.tokens()
	return r.within(ctx, func(ctx context.Context) error {
		return awaited(ctx, func(ctx context.Context) error {
			return apisecrets.ForgetBootstrapToken(ctx, api, kubelet.Old, kubelet.New)
		})
	})
}
