package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/workspace"
)

// recover finishes what a killed run left behind, and says what it did. Only what is going up needs a bootstrap.
func (s *session) recover(ctx context.Context, goingUp bool) error {
	if err := s.clearLocks(); err != nil {
		return err
	}
	exported, err := s.state.Export(ctx)
	if err != nil {
		return err
	}
	cleared, err := s.clearUnfinished(ctx, &exported.Deployment)
	if err != nil {
		return err
	}
	adopted := false
	if goingUp {
		if adopted, err = s.adoptBootstrap(ctx, &exported.Deployment); err != nil {
			return err
		}
	}
	if !cleared && !adopted {
		return nil
	}
	return s.state.Import(ctx, exported)
}

func (s *session) clearLocks() error {
	cleared, err := recovery.ClearStaleLocks(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	var busy *recovery.BusyError
	if errors.As(err, &busy) {
		return refused(err)
	}
	if err != nil || cleared == 0 {
		return err
	}
	ended, err := recovery.EndOrphans(s.workspace.Home)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, " recover    the run before was killed: its lock is removed, %d of its plugins ended\n", ended)
	return nil
}

// clearUnfinished settles machines of which only the beginning is known.
func (s *session) clearUnfinished(ctx context.Context, deployment *apitype.DeploymentV3) (bool, error) {
	host, err := pve.NewHost(s.host)
	if err != nil {
		return false, refused(err)
	}
	halfMade, err := recovery.ClearHalfMade(ctx, deployment, host)
	s.report(halfMade)
	if err != nil {
		return false, err
	}
	pending, err := recovery.ClearPending(ctx, deployment, host)
	s.report(pending)
	return len(halfMade)+len(pending) > 0, err
}

func (s *session) report(done []string) {
	for _, sentence := range done {
		fmt.Fprintf(s.out, " recover    %s\n", sentence)
	}
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
	fmt.Fprintf(s.out, " recover    etcd on %s is bootstrapped already: it is adopted\n", first.Name)
	return true, nil
}
