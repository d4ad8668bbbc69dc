package operator

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// secretsRotation is a rotation of machine secrets, which changes the nodes and the state together. Its new secrets are made once: they
// are in the state, sealed, from the begin to the end, so that it goes on with them after a kill at any point.
type secretsRotation struct {
	// what is the argument of `em-infra rotate`, e.g. talos-ca.
	what string
	// purpose completes "type the name of the stack to …".
	purpose string
	// cost is what it costs the cluster, for a person. Default: empty, nothing stops or restarts.
	cost string
	// check refuses what cannot be rotated, before anything is changed. Default: nil, nothing is refused.
	check func(*engine.Exported) error
	// steps in their order. Each can be repeated.
	steps []rotationStep
	// renew returns the new secrets for those in the state.
	renew func(exported *engine.Exported, now time.Time) (rotation.Replacements, error)
}

// RotationOptions are the options of a rotation of machine secrets.
type RotationOptions struct {
	// Without are the names of nodes that are lost for good, whose machines are off or deleted: they keep the former secrets, and are
	// deleted and created anew afterwards. A node that answers is refused. Default: none, the rotation ends at a node that does not answer.
	Without []string
	// DrainTimeout is how long a node that reboots waits for pods that PodDisruptionBudgets protect, which only [Operator.RotateJoinTokens]
	// needs. Default: 0, no wait.
	DrainTimeout time.Duration
	// DeleteHeldBack deletes the pods that are still protected after DrainTimeout. Default: false, the rotation ends with an error.
	DeleteHeldBack bool
}

// rotationStep is a step of a rotation.
type rotationStep struct {
	// text says what it does, in the list of the steps and in the progress of a run.
	text string
	// run does it. Default: nil, nothing.
	run func(ctx context.Context, r *secretsRun) error
	// writes is whether the new secrets are in the state from the end of the step on.
	writes bool
	// write writes them into the state. Default: nil, each is written in the place of the old one.
	write func(rotation.Replacements, *apitype.DeploymentV3) error
}

// into writes the new secrets into a deployment, if that is what the step does.
func (t rotationStep) into(deployment *apitype.DeploymentV3, replacements rotation.Replacements) error {
	switch {
	case t.write != nil:
		return t.write(replacements, deployment)
	case t.writes:
		return replacements.In(deployment)
	}
	return nil
}

// What every rotation of machine secrets begins and ends with.
const (
	rotationBackup = "back up the state, and take a snapshot of etcd"
	rotationKeep   = "make the new secrets and keep them in the state, sealed, until the end"
	rotationEnd    = "back up the state, and write the files with the credentials of the administrator"
)

// list returns all steps for a person.
func (r secretsRotation) list() []string {
	texts := []string{rotationBackup, rotationKeep}
	for _, step := range r.steps {
		texts = append(texts, step.text)
	}
	return append(texts, rotationEnd)
}

// secretsRun is a rotation in a run.
type secretsRun struct {
	*Operator
	secretsRotation

	cluster clusterInState
	etcd    clusterEtcd
	consent consent
	options RotationOptions
	note    rotation.Note
	nodes   []rolling.Node // of the state without those that are left out, control planes first
	left    []rolling.Node // those that are left out
}

func (s *session) secretsRun(wanted secretsRotation) *secretsRun {
	return &secretsRun{Operator: s.Operator, secretsRotation: wanted, cluster: s.inState(), etcd: s.etcd(), consent: s.consent}
}

// rotateSecrets carries out a rotation, after consent, or goes on with the one that was begun.
func (o *Operator) rotateSecrets(ctx context.Context, wanted secretsRotation, options RotationOptions) error {
	s, err := o.begin(ctx, needs{consent: wanted.purpose, rotates: wanted.what, hostMayBeAway: true})
	if err != nil {
		return err
	}
	defer s.recovery.Release(ctx)
	if err := s.recovery.SettleProcesses(ctx); err != nil {
		return err
	}
	nodes, err := s.inState().nodes(ctx)
	if err != nil {
		return refused(s.place.CompleteError(err))
	}
	r := s.secretsRun(wanted)
	r.options = options
	if r.nodes, r.left, err = leaveOut(ctx, nodes, options.Without); err != nil {
		return refused(s.place.CompleteError(err))
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for r.note.Done < len(r.steps) {
		if err := r.next(ctx); err != nil {
			return r.again(ctx, err)
		}
	}
	if err := r.finish(ctx); err != nil {
		return r.again(ctx, err)
	}
	if _, err := r.cluster.state.BackUp(ctx, "after-rotate"); err != nil {
		return unsavedAfter(err)
	}
	return nil
}

// prepare finds the rotation that was begun, or begins one.
func (r *secretsRun) prepare(ctx context.Context) error {
	exported, err := r.cluster.state.Fresh(ctx)
	if err != nil {
		return err
	}
	note, err := rotation.NoteIn(exported.Deployment)
	if err != nil {
		return refused(r.cluster.place.CompleteError(err))
	}
	if note != nil {
		r.note = *note
		r.recovered(fmt.Sprintf("the rotation that was begun at %s goes on with the same new secrets", note.Begun.UTC().Format("2006-01-02 15:04:05 UTC")))
		_, err := r.cluster.state.BackUp(ctx, "rotating") // a run that was killed after it changed the state has left no backup
		return err
	}
	if len(exported.Deployment.PendingOperations) > 0 {
		return refused(r.cluster.place.CompleteError(fmt.Errorf("a run on stack %s was killed and is not settled: run `em-infra up` first", r.workspace.Stack)))
	}
	if _, err := r.cluster.machineSecrets(ctx); err != nil {
		return err
	}
	if r.check != nil {
		if err := r.check(exported); err != nil {
			return err
		}
	}
	if err := r.checkNodes(ctx); err != nil {
		return refused(err)
	}
	if r.cost != "" {
		r.emit(Note{Text: r.cost})
	}
	if err := r.consent.ask(ctx); err != nil {
		return err
	}
	return r.start(ctx)
}

// start backs up the state, takes a snapshot of etcd, and keeps the new secrets in the state.
func (r *secretsRun) start(ctx context.Context) error {
	if _, err := r.cluster.state.BackUp(ctx, "before-rotate"); err != nil {
		return err
	}
	saved, err := r.etcd.snapshot(ctx, "before-rotate")
	if err != nil {
		return err
	}
	if saved != nil {
		r.etcd.tell(*saved)
	}
	return r.keepNew(ctx)
}

// keepNew makes the new secrets and keeps them in the state.
func (r *secretsRun) keepNew(ctx context.Context) error {
	return r.changeAndBackUp(ctx, func(exported *engine.Exported) error {
		replacements, err := r.renew(exported, r.clock.Now())
		if err != nil {
			return r.cluster.place.CompleteError(err)
		}
		r.note = rotation.Note{What: r.what, Begun: r.clock.Now(), Replacements: replacements}
		return r.note.In(&exported.Deployment)
	})
}

// changeAndBackUp changes the state and backs it up: were it lost, a backup from before would lack secrets that nodes have, or how far the
// rotation got.
func (r *secretsRun) changeAndBackUp(ctx context.Context, how func(*engine.Exported) error) error {
	if err := r.change(ctx, how); err != nil {
		return err
	}
	_, err := r.cluster.state.BackUp(ctx, "rotating")
	return err
}

// next does the next step and notes it.
func (r *secretsRun) next(ctx context.Context) error {
	step, began := r.steps[r.note.Done], r.clock.Now()
	if step.run != nil {
		if err := step.run(ctx, r); err != nil {
			return err
		}
	}
	err := r.changeAndBackUp(ctx, func(exported *engine.Exported) error {
		if err := step.into(&exported.Deployment, r.note.Replacements); err != nil {
			return err
		}
		r.note.Done++
		return r.note.In(&exported.Deployment)
	})
	if err != nil {
		return err
	}
	r.emit(Progress{Part: "rotate", What: step.text, Took: r.clock.Now().Sub(began)})
	return nil
}

// finish writes the new credentials, and then removes the note, and with it the old secrets, from the state: without the note, the rotation
// cannot be resumed.
func (r *secretsRun) finish(ctx context.Context) error {
	if _, err := r.credentials().keepFrom(ctx, r.cluster); err != nil {
		return err
	}
	err := r.change(ctx, func(exported *engine.Exported) error {
		rotation.Remove(&exported.Deployment)
		return nil
	})
	if err != nil {
		return err
	}
	r.tellLeftOut()
	return nil
}

// change changes the state.
func (r *secretsRun) change(ctx context.Context, how func(*engine.Exported) error) error {
	exported, err := r.cluster.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if err := how(exported); err != nil {
		return err
	}
	return r.cluster.state.Import(ctx, exported)
}

// checkNoRotation refuses to work on a stack whose machine secrets are being rotated, unless that is what is to be done. Nodes and state may have
// different secrets. A state that is missing or cannot be read is no error here: the operations that need it report that.
func (c clusterInState) checkNoRotation(ctx context.Context, allowed string) error {
	seen, err := c.state.Last(ctx)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if what := rotation.Begun(seen.Deployment); what != "" && what != allowed {
		return refused(c.place.CompleteError(fmt.Errorf("a rotation (%s) was begun and has not ended: run `em-infra rotate %s` again, which goes on from there", what, what)))
	}
	return nil
}

// authorityIn returns a CA of the machine secrets in a state, by its name there.
func authorityIn(exported *engine.Exported, name string) (rotation.Pair, error) {
	properties, err := state.MachineSecretsText(exported.Deployment)
	if err != nil {
		return rotation.Pair{}, err
	}
	at := "certs." + name
	return rotation.Pair{Certificate: propertymap.Text(properties, at+".cert"), Key: propertymap.Text(properties, at+".key")}, nil
}
