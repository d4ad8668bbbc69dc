package recovering

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Evidence returns the sources about the fate of machines: the host and the backups of the state.
func (r *Recovery) Evidence() (recovery.Evidence, error) {
	host, err := r.hostThatReports()
	return recovery.Evidence{Host: host, Past: r.State.Past}, err
}

// hostThatReports returns a client of Proxmox VE that reports what it waits for.
func (r *Recovery) hostThatReports() (Host, error) {
	return r.Host(func(text string) { r.say(text) })
}

// recoverMachines determines the state of the machines that earlier runs have left incomplete, and writes it into the state. It
// changes nothing on the host. Machines to delete are shown with the preview and deleted after the consent.
func (r *Recovery) recoverMachines(ctx context.Context, exported *engine.Exported) (used []recovery.Remnant, err error) {
	evidence, err := r.Evidence()
	if err != nil {
		return nil, err
	}
	unfinished, err := recovery.LookAtUnfinished(ctx, &exported.Deployment, evidence)
	if err != nil {
		return nil, err
	}
	if err := r.note(ctx, exported, unfinished); err != nil {
		return nil, err
	}
	if err := r.adoptUnknown(ctx, exported, evidence); err != nil {
		return nil, err
	}
	recorded, err := recovery.Record(ctx, &exported.Deployment, evidence.Host)
	if err != nil {
		return nil, err
	}
	if recorded > 0 { // a machine with a lock cannot be settled now; the next run finds the record once the lock is gone
		if err := r.State.Import(ctx, exported); err != nil {
			return nil, err
		}
	}
	failed, err := recovery.LookAtFailed(ctx, &exported.Deployment, evidence)
	if err != nil {
		return nil, err
	}
	r.neverRan = failed.NeverRan
	return failed.Used, r.note(ctx, exported, failed)
}

// note writes the results of a survey into the state.
func (r *Recovery) note(ctx context.Context, exported *engine.Exported, survey recovery.Survey) error {
	done, changed := survey.Note(&exported.Deployment, r.Now())
	r.say(done...)
	if !changed {
		return nil
	}
	return r.State.Import(ctx, exported)
}

// Foresee determines for a preview what up would delete on the host and adopt. It changes nothing. While another run holds the lock
// it does nothing, since that run may complete its machines.
func (r *Recovery) Foresee(ctx context.Context) error {
	locks, err := recovery.Locks(ctx, r.at())
	if err != nil || slices.ContainsFunc(locks, func(lock recovery.Lock) bool { return !lock.Stale }) {
		return err
	}
	exported, err := r.State.Seen(ctx)
	if err != nil {
		return err
	}
	evidence, err := r.Evidence()
	if err != nil {
		return err
	}
	evidence.Host = recovery.AtAGlance(evidence.Host)
	for _, look := range []func(context.Context, *apitype.DeploymentV3, recovery.Evidence) (recovery.Survey, error){
		recovery.LookAtUnfinished, recovery.LookAtFailed,
	} {
		survey, err := look(ctx, &exported.Deployment, evidence)
		if err != nil {
			return r.Place.CompleteError(err)
		}
		r.neverRan = append(r.neverRan, survey.NeverRan...)
		r.unanswered = append(r.unanswered, survey.Unanswered...)
	}
	return r.foreseeUnknown(ctx, &exported.Deployment, evidence.Host)
}

// Deletions returns a sentence for each machine that will be deleted.
func (r *Recovery) Deletions() []string {
	var sentences []string
	for _, remnant := range r.neverRan {
		sentences = append(sentences, remnant.Promise())
	}
	return sentences
}

// DeleteNeverRan deletes the leftovers of machines that never ran, after the consent.
func (r *Recovery) DeleteNeverRan(ctx context.Context) error {
	if len(r.neverRan) == 0 {
		return nil
	}
	host, err := r.Host(nil)
	if err != nil {
		return err
	}
	exported, err := r.State.Fresh(ctx)
	if err != nil {
		return err
	}
	for _, remnant := range r.neverRan {
		done, err := recovery.Delete(ctx, &exported.Deployment, remnant, host)
		if err != nil {
			return r.Place.CompleteError(err)
		}
		r.say(done)
		if err := r.State.Import(ctx, exported); err != nil {
			return err
		}
	}
	r.neverRan = nil
	return nil
}

// asMadeAnew changes the events of machines that are deleted before the engine runs into creations.
func (r *Recovery) asMadeAnew(seen []apitype.EngineEvent) []apitype.EngineEvent {
	for i, event := range seen {
		if event.ResourcePreEvent == nil || !slices.ContainsFunc(r.neverRan, func(left recovery.Remnant) bool {
			return string(left.URN) == event.ResourcePreEvent.Metadata.URN
		}) {
			continue
		}
		pre := *event.ResourcePreEvent
		switch pre.Metadata.Op {
		case apitype.OpSame, apitype.OpUpdate, apitype.OpReplace:
			pre.Metadata.Op, pre.Metadata.Old, pre.Metadata.Diffs, pre.Metadata.DetailedDiff = apitype.OpCreate, nil, nil, nil
			seen[i].ResourcePreEvent = &pre
		}
	}
	return seen
}

// restartUsed starts the machines that a failed change has left off, and refreshes them: the state contains what was planned, not
// what was done. The same run then tries the change again.
func (r *Recovery) restartUsed(ctx context.Context, exported *engine.Exported, used []recovery.Remnant) error {
	if len(used) == 0 {
		return nil
	}
	host, err := r.Host(nil)
	if err != nil {
		return err
	}
	var urns []string
	for _, remnant := range used {
		urns = append(urns, string(remnant.URN))
		done, err := recovery.Start(ctx, remnant, host)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !remnant.Idle:
			return err
		case err != nil: // the pending change may be what lets it start again
			r.say(fmt.Sprintf("VM %d (%s) is off since a change of it failed, and does not start: %v", remnant.VMID, remnant.Name, err))
		default:
			r.say(done)
		}
		if err == nil && remnant.Idle {
			r.restarted = true
			r.awaitStarted(ctx, exported, remnant)
		}
	}
	if err := r.Engine.Refresh(ctx, urns); err != nil {
		return fmt.Errorf("read %s from the host: %w", strings.Join(names(used), ", "), err)
	}
	return nil
}

// bootPatience is the time limit for a machine's Talos to answer. If the machine were shut down for the next try before it reacts to
// its power button, the run would wait twenty minutes in vain.
const bootPatience = 5 * time.Minute

// awaitStarted waits until the Talos of a machine answers. A timeout is only reported; the gate before changes decides.
func (r *Recovery) awaitStarted(ctx context.Context, exported *engine.Exported, remnant recovery.Remnant) {
	_, talosconfig, err := state.ClusterCredentials(exported.Deployment)
	if err != nil || talosconfig == "" || !remnant.Joined {
		return
	}
	for _, node := range r.nodes() {
		if node.VMID != remnant.VMID {
			continue
		}
		wait := nodeops.Wait{
			Talosconfig: []byte(talosconfig), Address: node.Address.String(), Machine: fmt.Sprintf("VM %d", node.VMID), Limit: bootPatience,
			Say: func(text string) { r.say(text) },
		}
		if err := r.Nodes.AwaitSecure(ctx, wait); err != nil {
			r.say(err.Error())
		}
	}
}

func names(remnants []recovery.Remnant) []string {
	var names []string
	for _, remnant := range remnants {
		names = append(names, remnant.Name)
	}
	return names
}
