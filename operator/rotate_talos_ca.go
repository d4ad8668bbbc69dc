package operator

import (
	"context"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// TalosCARotation are the steps of [Operator.RotateTalosCA], in their order. None stops anything in the cluster.
var TalosCARotation = talosCARotation.list()

var talosCARotation = secretsRotation{
	what: "talos-ca", purpose: "replace the CA of its Talos API", renew: newTalosCA,
	steps: []rotationStep{
		{text: "each node accepts the new CA of the Talos API, control planes first", run: acceptTalosCA},
		{text: "machine secrets, configurations and the talosconfig in the state are of the new CA", writes: true},
		{text: "each node issues its certificates with the new CA, and still accepts the old one", run: issueByTalosCA},
		{text: "no node accepts the old CA any more, and every former talosconfig is refused", run: dropTalosCA},
	},
}

// RotateTalosCA replaces the CA of the Talos API, after consent, without a reboot. After a kill at any point it goes on with the same new
// CA; until then other operations are refused.
func (o *Operator) RotateTalosCA(ctx context.Context, options RotationOptions) error {
	return o.rotateSecrets(ctx, talosCARotation, options)
}

// newTalosCA makes the new CA, and the administrator's certificate.
func newTalosCA(exported *engine.Exported, now time.Time) (rotation.Replacements, error) {
	ca, err := authorityIn(exported, "os")
	if err != nil {
		return nil, err
	}
	present, err := recovery.CredentialsOf(state.MachineSecrets(exported.Deployment))
	if err != nil {
		return nil, err
	}
	client := rotation.Pair{Certificate: present.Certificate, Key: present.Key}
	return rotation.Authority(rotation.TalosCA, ca, client, now.Add(-allowedSkew))
}

// talosCA is the rotation of a CA of the Talos API, with the talosconfigs of its steps.
type talosCA struct {
	*secretsRun
	ca, client rotation.Change
}

func (r *secretsRun) talosCA() (talosCA, error) {
	ca, err := r.note.Replacements.Authority()
	if err != nil {
		return talosCA{}, err
	}
	client, err := r.note.Replacements.Client()
	return talosCA{r, ca, client}, err
}

// as returns the talosconfig of a client that trusts a CA.
func (t talosCA) as(client rotation.Pair, ca string) ([]byte, error) {
	return nodeops.Credentials{CA: ca, Certificate: client.Certificate, Key: client.Key}.Talosconfig(t.addresses()...)
}

// patch changes each node with one talosconfig, and then checks it with another one.
func (t talosCA) patch(ctx context.Context, talosconfig []byte, change func(*v1alpha1.Config), check func(context.Context, rolling.Node) error) error {
	health := t.health(talosconfig)
	return t.onEach(func(node rolling.Node) error {
		return t.within(ctx, func(ctx context.Context) error {
			if _, err := health.Configure(ctx, node, change); err != nil {
				return err
			}
			return check(ctx, node)
		})
	})
}

func acceptTalosCA(ctx context.Context, r *secretsRun) error {
	t, err := r.talosCA()
	if err != nil {
		return err
	}
	change, err := rotation.TalosPlace.Accept(t.ca)
	if err != nil {
		return err
	}
	former, err := t.as(t.client.Old, t.ca.Old.Certificate)
	if err != nil {
		return err
	}
	latter, err := t.as(t.client.New, t.ca.Old.Certificate)
	if err != nil {
		return err
	}
	return t.patch(ctx, former, change, t.answers(latter))
}

func issueByTalosCA(ctx context.Context, r *secretsRun) error {
	t, err := r.talosCA()
	if err != nil {
		return err
	}
	change, err := rotation.TalosPlace.Issue(t.ca)
	if err != nil {
		return err
	}
	both, err := t.ca.Both()
	if err != nil {
		return err
	}
	either, err := t.as(t.client.New, both)
	if err != nil {
		return err
	}
	latter, err := t.as(t.client.New, t.ca.New.Certificate)
	if err != nil {
		return err
	}
	return t.patch(ctx, either, change, t.answers(latter))
}

func dropTalosCA(ctx context.Context, r *secretsRun) error {
	t, err := r.talosCA()
	if err != nil {
		return err
	}
	change, err := rotation.TalosPlace.Drop(t.ca)
	if err != nil {
		return err
	}
	latter, err := t.as(t.client.New, t.ca.New.Certificate)
	if err != nil {
		return err
	}
	former, err := t.as(t.client.Old, t.ca.New.Certificate)
	if err != nil {
		return err
	}
	return t.patch(ctx, latter, change, func(ctx context.Context, node rolling.Node) error {
		if err := t.answers(latter)(ctx, node); err != nil {
			return err
		}
		return t.refuses(former)(ctx, node)
	})
}
