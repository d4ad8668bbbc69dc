package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// AdoptOptions are the options of [Operator.Adopt].
type AdoptOptions struct {
	// Secrets is a file with the machine secrets of the cluster, as `talosctl gen secrets` writes it. Default: empty, they are read
	// from a control plane.
	Secrets string
	// Talosconfig is the file that opens the control plane for that. Default: empty, that of an earlier up, among the credentials.
	Talosconfig string
	// DryRun writes no state. Default: false.
	DryRun bool
}

// Adopted is the result of [Operator.Adopt].
type Adopted struct {
	// Resources is the number of resources in the new state.
	Resources int
	// Absent are the names of the resources that do not exist; an up creates them.
	Absent []string
	// Preview is what an up would do with the new state.
	Preview *Preview
	// Written is whether the state was written; false for a dry run.
	Written bool
	// Kubeconfig and Talosconfig are the paths of the credentials; empty for a dry run.
	Kubeconfig, Talosconfig string
}

// Adopt writes the state of a cluster that runs and whose state is lost: it asks host and nodes, and changes neither. The state is
// written at the end, at once; a run that ends before has changed nothing, and may be repeated. It refuses if there is a state with
// machines, or backups of one; if a machine is not of the cluster of the machine secrets; and if an up would then replace or delete a
// machine, or be refused.
func (o *Operator) Adopt(ctx context.Context, options AdoptOptions) (*Adopted, error) {
	if !o.workspace.Rehearsed {
		if err := o.checkSecrets(ctx); err != nil { // its error is clearer than those that a lost file causes later
			return nil, refused(err)
		}
	}
	own, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return nil, err
	}
	defer own.recovery.Release(ctx)
	if _, err := own.recovery.ClearLocks(ctx); err != nil {
		return nil, err
	}
	draft, err := o.openDraft() // first, since it removes that of a killed run
	if err != nil {
		return nil, err
	}
	defer draft.close()
	into := takeover{Operator: o, cluster: own.inState()}
	if err := into.checkNothingToLose(ctx); err != nil {
		return nil, err
	}
	adopted, deployment, err := draft.adopt(ctx, options)
	if err != nil || options.DryRun {
		return adopted, err
	}
	return adopted, into.write(ctx, deployment, adopted)
}

// takeover puts the state of a draft into the place of the stack's own.
type takeover struct {
	*Operator

	cluster clusterInState
}

// checkNothingToLose refuses if there is a state with machines, or a backup of one.
func (t takeover) checkNothingToLose(ctx context.Context) error {
	exported, err := t.cluster.state.Export(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		if machines := state.Machines(exported.Deployment); len(machines) > 0 {
			return refused(fmt.Errorf("the state of stack %s has %d machines: look at `em-infra preview %s`; only a state that is lost is adopted", t.workspace.Stack, len(machines), t.cluster.place.Stack))
		}
	case !errors.Is(err, engine.ErrNoStack):
		return t.cluster.state.Unreadable(err)
	}
	if err := t.checkNotMoved(ctx); err != nil {
		return refused(err)
	}
	copies, unlisted, err := t.backupCopies(ctx)
	if err := errors.Join(err, unlisted); err != nil || len(copies) == 0 {
		return err
	}
	where := workspace.Nearby(t.workspace.Backups)
	if !copies[0].Local {
		where = backup.Folder(workspace.Project, t.workspace.Stack) + " in the bucket"
	}
	return refused(fmt.Errorf("stack %s has backups of its state, which say more than the host does: put the newest back with `em-infra state restore %s`; only if none can be used, move %s away, then run adopt again",
		t.workspace.Stack, t.cluster.place.Stack, where))
}

// write writes the state of a draft into the place of the stack's own, and the credentials in it.
func (t takeover) write(ctx context.Context, draft *engine.Exported, adopted *Adopted) error {
	if err := t.checkNothingToLose(ctx); err != nil { // another run may have written a state since the first check
		return err
	}
	_, err := t.cluster.state.Export(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		err = t.cluster.state.Create(ctx)
	}
	if err != nil {
		return err
	}
	if err := t.cluster.state.Import(ctx, draft); err != nil {
		return err
	}
	adopted.Written = true
	if err := t.keep(ctx, adopted); err != nil {
		return fmt.Errorf("the state is written and whole, but what belongs to it is not (%w): mend that, then run `em-infra up %s`, which writes credentials and backup", err, t.cluster.place.Stack)
	}
	return nil
}

// keep writes the credentials in the state, and a backup of it.
func (t takeover) keep(ctx context.Context, adopted *Adopted) error {
	outputs, err := t.cluster.outputs(ctx)
	if err != nil {
		return err
	}
	if err := t.credentials().keep(outputs); err != nil {
		return err
	}
	adopted.Kubeconfig, adopted.Talosconfig = t.credentials().kubeconfig(), t.credentials().talosconfig()
	_, err = t.cluster.state.BackUp(ctx, "after-adopt")
	return err
}

// refuseLosses refuses a state with which an up would replace or delete a node, or anything else that needs a permission, or with which an
// up would be refused because of an impossible change. A template may be replaced: nodes do not notice.
func refuseLosses(preview *Preview, nodes []string, place string) error {
	var lost []string
	for _, finding := range preview.Findings {
		goes := finding.Kind == risk.Delete || finding.Kind == risk.Replace
		isDear := len(finding.Needs) > 0 || slices.Contains(nodes, finding.Subject)
		if goes && isDear || finding.Kind == risk.Impossible {
			lost = append(lost, fmt.Sprintf("%s %s: %s", finding.Kind, finding.Subject, strings.Join(finding.What, "; ")))
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return refused(fmt.Errorf("with the inventory as it is, an up would destroy what runs:\n%s\nchange the inventory to what runs, then run `em-infra adopt %s` again; nothing was touched", strings.Join(lost, "\n"), place))
}
