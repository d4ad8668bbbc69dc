package main

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/status"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

func newStatusCommand() *cobra.Command {
	var (
		flags  stackFlags
		output string
	)
	command := &cobra.Command{
		Use:   "status --stack STACK",
		Short: "Say what stands: machines, Talos, etcd, Kubernetes, certificates, state, orphans; only reads",
		Long: `Say what stands: each machine as Proxmox VE, Talos and Kubernetes see it, the members of etcd, the days left on the
administrator's certificates, the last run, operations that never ended, locks with their owners, and what lies on the host
that nothing uses any more.

Exit codes: 0 all is well, 1 something is not, or could not be asked.`,
		Example: "  em-infra status --stack k3s-dev\n  em-infra status --stack k3s-dev --lab --output json",
		RunE: func(command *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			streams := streamsOf(command)
			s, err := openSession(command.Context(), flags, want{mayBeAway: true}, streams.aside())
			if err != nil {
				return err
			}
			sources, err := s.sources(command.Context())
			if err != nil {
				return err
			}
			report := sources.Report(command.Context(), time.Now())
			s.tellOrphans(report.Orphans)
			if err := writeResult(streams.out, output, report); err != nil {
				return err
			}
			if len(report.Lacks()) > 0 {
				return failedSilently()
			}
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	bindOutput(command, &output)
	return command
}

// sources are those who know something of the stack's cluster.
func (s *session) sources(ctx context.Context) (status.Sources, error) {
	host, err := pve.NewReader(s.host)
	if err != nil {
		return status.Sources{}, refused(err)
	}
	exported, err := s.readState(ctx)
	if err != nil {
		return status.Sources{}, err
	}
	owner, err := recovery.OwnerOf(s.workspace.Stack, &exported.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	outputs, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	last, err := s.lastUpdate(ctx)
	if err != nil {
		return status.Sources{}, err
	}
	locks, err := recovery.Locks(s.workspace.Backend, workspace.Project, s.workspace.Stack)
	if err != nil {
		return status.Sources{}, err
	}
	images, err := s.images()
	return status.Sources{
		Inventory: s.inventory, Images: images, Host: host, Owner: owner, Deployment: exported.Deployment, LastUpdate: last, Locks: locks,
		Talosconfig: secretOf(outputs, stacks.OutputTalosconfig), Kubeconfig: secretOf(outputs, stacks.OutputKubeconfig),
	}, err
}

// secretOf is an output that is a text; empty when there is none yet.
func secretOf(outputs auto.OutputMap, name string) []byte {
	text, _ := outputs[name].Value.(string)
	return []byte(text)
}

// lastUpdate is the newest entry of the stack's history; nil when it has none.
func (s *session) lastUpdate(ctx context.Context) (*status.Update, error) {
	history, err := s.stack.History(ctx, 1, 1)
	if err != nil {
		return nil, said(err)
	}
	if len(history) == 0 {
		return nil, nil //nolint:nilnil // nothing ever happened, and that is no error
	}
	last := &status.Update{Kind: history[0].Kind, Result: history[0].Result}
	if history[0].EndTime == nil {
		return last, nil
	}
	last.Ended, err = time.Parse(time.RFC3339, *history[0].EndTime)
	return last, err
}
