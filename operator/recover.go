package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// settleProcesses ends what a killed run has left working, before anything else is asked or done: its plugins go on, and would start
// a machine that nobody remembers. An engine whose em-infra was killed is waited for. It refuses where another run is alive.
func (s *session) settleProcesses(ctx context.Context) error {
	if err := s.awaitAbandoned(ctx); err != nil {
		return err
	}
	_, err := s.clearLocks()
	return err
}

// abandonedLimit is how long an engine may need for what is in flight when its em-infra is killed: no wait of a plugin is longer.
const abandonedLimit = 30 * time.Minute

// awaitAbandoned waits for an engine whose em-infra was killed: it finishes what it has begun, and nothing else would know of it.
func (s *session) awaitAbandoned(ctx context.Context) error {
	owner, err := recovery.Owner(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	if err != nil || owner == nil || !owner.Abandoned(ctx) {
		return err
	}
	s.recovered(fmt.Sprintf("the run before was killed; its engine (process %d) finishes what it has begun, at most %d min", owner.PID, int(abandonedLimit.Minutes())))
	limited, cancel := context.WithTimeout(ctx, abandonedLimit)
	defer cancel()
	if err := owner.AwaitEnd(limited); err != nil && ctx.Err() == nil {
		return fmt.Errorf("the engine (process %d) of a run that was killed does not end: look at what it waits for with `em-infra status %s`, end it with `kill -9 %d`, and run again", owner.PID, s.place.Stack, owner.PID)
	}
	return context.Cause(ctx)
}

// recover settles what failed and killed runs have left, and tells what it did. Nothing is deleted: what is to be deleted is shown with the
// preview. Only what is going up needs a bootstrap, and machines that are on.
func (s *session) recover(ctx context.Context, goingUp bool) error {
	exported, err := s.state.Fresh(ctx)
	if err != nil {
		return err
	}
	used, exported, err := s.machinesAtRest(ctx, exported)
	if err != nil {
		return err
	}
	if recovery.CompleteBootstrap(&exported.Deployment) {
		if err := s.state.Import(ctx, exported); err != nil {
			return err
		}
	}
	if !goingUp {
		return nil
	}
	adopted, err := s.adoptBootstrap(ctx, &exported.Deployment)
	if err != nil {
		return err
	}
	if adopted {
		if err := s.state.Import(ctx, exported); err != nil {
			return err
		}
	}
	if err := s.restartUsed(ctx, exported, used); err != nil {
		return err
	}
	return s.wakeHanging(ctx, exported)
}

// clearLocks removes the lock of a dead run and ends what works on for it, and says how many locks there were.
func (s *session) clearLocks() (int, error) {
	cleared, err := recovery.ClearStaleLocks(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	var busy *recovery.BusyError
	if errors.As(err, &busy) {
		return 0, refused(err)
	}
	if err != nil {
		return cleared, err
	}
	which := "plugins of an engine that was killed"
	if cleared > 0 {
		s.recovered("the run before was killed: its lock is removed")
		which = "of its plugins"
	}
	return cleared, s.endOrphans(which)
}

// endOrphans ends the plugins whose engine is dead: a preview that was killed leaves no lock that would tell of it.
func (s *session) endOrphans(which string) error {
	ended, err := recovery.EndOrphans(s.workspace.Home)
	if ended > 0 {
		s.recovered(fmt.Sprintf("%d %s still worked: they are ended", ended, which))
	}
	return err
}

// recovered tells what was settled of an earlier run, a sentence each.
func (s *session) recovered(sentences ...string) {
	for _, sentence := range sentences {
		s.emit(Recovered{sentence})
	}
}

// uncordon lets pods onto the nodes that a run had cordoned and that was interrupted before they were back.
func (s *session) uncordon(ctx context.Context, talosconfig string) error {
	api, err := nodeops.ReachKubernetes(ctx, []byte(talosconfig))
	if err != nil {
		return fmt.Errorf("whether nodes are still cordoned is not known (%w): run up again", err)
	}
	defer api.Close()
	names, err := api.Uncordon(ctx)
	for _, name := range names {
		s.recovered(name + " takes pods again: a run that was interrupted had cordoned it")
	}
	if err != nil {
		return fmt.Errorf("%w: run up again", err)
	}
	return nil
}

// adoptBootstrap looks for a cluster that is bootstrapped without the state knowing (F6).
func (s *session) adoptBootstrap(ctx context.Context, deployment *apitype.DeploymentV3) (bool, error) {
	secrets := recovery.Unbootstrapped(deployment)
	if secrets == nil {
		return false, nil
	}
	credentials, err := recovery.CredentialsOf(secrets)
	if err != nil {
		return false, err
	}
	first := s.inventory.Nodes.ControlPlanes()[0]
	bootstrapped, err := nodeops.IsBootstrapped(ctx, nodeops.Credentials(credentials), first.Address.String())
	if err != nil || !bootstrapped {
		return false, err
	}
	recovery.AdoptBootstrap(deployment, components.BootstrapName(s.inventory.Cluster.Name), first.Address.String())
	s.recovered("etcd on " + first.Name + " is bootstrapped already: it is adopted")
	return true, nil
}
