package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// evidence is where to look for what became of machines: on the host, and in the copies of the state.
func (s *session) evidence() (recovery.Evidence, error) {
	host, err := s.hostThatReports()
	return recovery.Evidence{Host: host, Past: s.state.Past}, err
}

// hostThatReports tells what it waits for.
func (s *session) hostThatReports() (pve.Host, error) {
	host, err := pve.NewHost(s.host)
	if err != nil {
		return host, refused(err)
	}
	host.Tell = func(text string) { s.recovered(text) }
	return host, nil
}

// recoverMachines finds out what became of the machines that earlier runs have left half made or half changed, and notes that
// in the state; nothing on the host is touched. What is to be deleted is shown with the preview, and deleted after the consent.
func (s *session) recoverMachines(ctx context.Context, exported *engine.Exported) (used []recovery.Remnant, err error) {
	evidence, err := s.evidence()
	if err != nil {
		return nil, err
	}
	unfinished, err := recovery.LookAtUnfinished(ctx, &exported.Deployment, evidence)
	if err != nil {
		return nil, err
	}
	if err := s.note(ctx, exported, unfinished); err != nil {
		return nil, err
	}
	if err := s.adoptUnknown(ctx, exported, evidence); err != nil {
		return nil, err
	}
	recorded, err := recovery.Record(ctx, &exported.Deployment, evidence.Host)
	if err != nil {
		return nil, err
	}
	if recorded > 0 { // what cannot be settled now, for its lock, is known by that in the next run, when the lock is gone
		if err := s.state.Import(ctx, exported); err != nil {
			return nil, err
		}
	}
	failed, err := recovery.LookAtFailed(ctx, &exported.Deployment, evidence)
	if err != nil {
		return nil, err
	}
	s.neverRan = failed.NeverRan
	return failed.Used, s.note(ctx, exported, failed)
}

// note writes what a survey found into the state.
func (s *session) note(ctx context.Context, exported *engine.Exported, survey recovery.Survey) error {
	done, changed := survey.Note(&exported.Deployment, s.clock.Now())
	s.recovered(done...)
	if !changed {
		return nil
	}
	return s.state.Import(ctx, exported)
}

// foreseeRecovery finds out what up would delete on the host, for a preview, and changes nothing. While another run works on the
// stack nothing is half made that this run is not going to finish.
func (s *session) foreseeRecovery(ctx context.Context) error {
	locks, err := recovery.Locks(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	if err != nil || slices.ContainsFunc(locks, func(lock recovery.Lock) bool { return !lock.Stale }) {
		return err
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	evidence, err := s.evidence()
	if err != nil {
		return err
	}
	evidence.Host = recovery.AtAGlance(evidence.Host)
	for _, look := range []func(context.Context, *apitype.DeploymentV3, recovery.Evidence) (recovery.Survey, error){
		recovery.LookAtUnfinished, recovery.LookAtFailed,
	} {
		survey, err := look(ctx, &exported.Deployment, evidence)
		if err != nil {
			return s.place.CompleteError(err)
		}
		s.neverRan = append(s.neverRan, survey.NeverRan...)
		s.unanswered = append(s.unanswered, survey.Unanswered...)
	}
	return s.foreseeUnknown(ctx, &exported.Deployment, evidence.Host)
}

// deletions says what is going to be deleted.
func (s *session) deletions() []string {
	var sentences []string
	for _, remnant := range s.neverRan {
		sentences = append(sentences, remnant.Promise())
	}
	return sentences
}

// deleteNeverRan deletes what is left of machines that never ran, to which somebody has agreed by now.
func (s *session) deleteNeverRan(ctx context.Context) error {
	if len(s.neverRan) == 0 {
		return nil
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
	}
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	for _, remnant := range s.neverRan {
		done, err := recovery.Delete(ctx, &exported.Deployment, remnant, host)
		if err != nil {
			return s.place.CompleteError(err)
		}
		s.recovered(done)
		if err := s.state.Import(ctx, exported); err != nil {
			return err
		}
	}
	s.neverRan = nil
	return nil
}

// asMadeAnew tells of a machine that is deleted before the engine works that it is made, whatever the engine makes of the rest
// that it finds.
func (s *session) asMadeAnew(seen []apitype.EngineEvent) []apitype.EngineEvent {
	for i, event := range seen {
		if event.ResourcePreEvent == nil || !slices.ContainsFunc(s.neverRan, func(r recovery.Remnant) bool {
			return string(r.URN) == event.ResourcePreEvent.Metadata.URN
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

// restartUsed brings the machines back that a failed change has left off, and has the engine read what became of them: its state says
// what was planned, not what was done. The same run then tries the change again.
func (s *session) restartUsed(ctx context.Context, exported *engine.Exported, used []recovery.Remnant) error {
	if len(used) == 0 {
		return nil
	}
	host, err := pve.NewHost(s.host)
	if err != nil {
		return refused(err)
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
		case err != nil: // it may be the very change that lets it start again
			s.recovered(fmt.Sprintf("VM %d (%s) is off since a change of it failed, and does not start: %v", remnant.VMID, remnant.Name, err))
		default:
			s.recovered(done)
		}
		if err == nil && remnant.Idle {
			s.restarted = true
			s.awaitStarted(ctx, exported, remnant)
		}
	}
	_, err = s.stack.Refresh(ctx, optrefresh.Target(urns), optrefresh.ProgressStreams(io.Discard), optrefresh.SuppressOutputs())
	if err != nil {
		return fmt.Errorf("read %s from the host: %w", strings.Join(names(used), ", "), sentenceOf(err))
	}
	return nil
}

// bootPatience is what a machine may take until its Talos answers. One that is shut down for the next try before it listens to
// its power button is waited for in vain, twenty minutes.
const bootPatience = 5 * time.Minute

// awaitStarted waits until the Talos of a machine answers. If it does not, that is reported, and the gate before changes decides.
func (s *session) awaitStarted(ctx context.Context, exported *engine.Exported, remnant recovery.Remnant) {
	_, talosconfig, err := credentialsIn(exported.Deployment)
	if err != nil || talosconfig == "" || !remnant.Joined {
		return
	}
	for _, node := range s.inventory.Nodes {
		if node.VMID != remnant.VMID {
			continue
		}
		wait := nodeops.Wait{
			Talosconfig: []byte(talosconfig), Address: node.Address.String(), Machine: fmt.Sprintf("VM %d", node.VMID), Limit: bootPatience,
			Say: func(text string) { s.recovered(text) },
		}
		if err := wait.UntilSecure(ctx); err != nil {
			s.recovered(err.Error())
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
