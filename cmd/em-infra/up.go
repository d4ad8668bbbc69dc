package main

import (
	"context"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/risk"
)

// upFlags are the flags of up.
type upFlags struct {
	place   stackFlags
	choices labChoices
	allowed allowances
	phases  phaseFlags
}

func newUpCommand() *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up --stack STACK",
		Short: "Bring the cluster to what the inventory says; safe to run again",
		Long: `Bring the cluster to what the inventory says. The host is asked first whether it can bear that, the state is backed up,
what a killed run left behind is settled, and what is going to happen is shown; at the end the nodes and the Kubernetes API
are asked whether everything works.

The phases are generate (machine secrets, schematics), provision (templates, machines), bootstrap (machine configurations,
etcd, kubeconfig), addons and verify.

What was changed by hand on the host is overwritten. The host is read before anything is compared; --refresh=false leaves
that out.`,
		Example: `  em-infra up --stack k3s-dev --lab --yes        # rehearse on the emulated host
  em-infra up --stack k3s-dev                    # on the real one, after a look at the preview
  em-infra up --stack k3s-dev --until provision  # the machines alone, in maintenance mode
  em-infra up --stack k3s-dev --only addons      # again what failed`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	flags.place.bindYes(command)
	flags.place.bindKeep(command)
	flags.place.bindVerbose(command)
	flags.choices.bind(command)
	flags.allowed.bind(command, &flags.place)
	flags.phases.bind(command)
	flags.place.bindRefresh(command)
	return command
}

func (f *upFlags) run(ctx context.Context, streams streams) error {
	span, spanErr := f.phases.span()
	permissions, allowErr := f.allowed.permissions()
	if err := errors.Join(spanErr, allowErr); err != nil {
		return refused(err)
	}
	s, err := openSession(ctx, f.place, want{startLab: true, choices: f.choices, newStack: true, consent: "bring it up"}, streams)
	if err != nil {
		return err
	}
	if span.work() {
		if err := s.bringUp(ctx, span, permissions); err != nil {
			return err
		}
	}
	if !span.verifies() {
		s.stopAfter(span)
		return nil
	}
	outputs, err := s.outputs(ctx)
	if err != nil {
		return err
	}
	if err := s.keepCredentials(outputs); err != nil {
		return err
	}
	report, err := s.verify(ctx)
	if err != nil {
		return err
	}
	if err := s.uncordon(ctx, outputs.Talosconfig); err != nil {
		return err
	}
	s.summarize(outputs, report)
	return nil
}

// bringUp lets the engine do its part of the span, between everything that makes that safe.
func (s *session) bringUp(ctx context.Context, span span, permissions []risk.Permission) error {
	if err := s.quiet(ctx); err != nil {
		return err
	}
	if err := s.mayGoUp(ctx); err != nil {
		return err
	}
	before, err := s.backUp(ctx, "before-up")
	if err != nil {
		return err
	}
	if err := s.recover(ctx, true); err != nil {
		return err
	}
	targets, err := s.narrow(ctx, span)
	if err != nil {
		return err
	}
	work := work{name: span.command(), targets: targets, weighed: before != nil || s.consent != "", permissions: permissions}
	seen, err := s.look(ctx)
	if err != nil {
		return err
	}
	if err := s.do(ctx, work, seen); err != nil {
		return err
	}
	if seen.silent == "" || !span.covers(phase.Addons) {
		return nil
	}
	return s.reachIntoCluster(ctx, work)
}

// reachIntoCluster does for what is in the cluster what could not be done while its API did not answer.
func (s *session) reachIntoCluster(ctx context.Context, w work) error {
	if err := s.awaitKubernetes(ctx); err != nil {
		return err
	}
	seen, err := s.look(ctx)
	if err != nil {
		return err
	}
	seen.silent, w.again = "", true // what fails now says so itself
	return s.do(ctx, w, seen)
}

// work is what the engine is to do.
type work struct {
	name        string   // among artifacts
	targets     []string // nil for everything
	weighed     bool     // a first run can neither delete nor replace: it is weighed only where consent is needed
	permissions []risk.Permission
	again       bool // a second pass: it asks for no consent where nothing is left to do
}

// do weighs the work, and lets the engine do it.
func (s *session) do(ctx context.Context, w work, seen look) error {
	var judged judgement
	if w.weighed {
		var err error
		judged, err = s.judge(ctx, seen, w.targets)
		if err != nil || w.again && !judged.hasChanges() {
			return err
		}
		if err := s.weigh(ctx, judged, w.permissions); err != nil {
			return err
		}
	}
	if err := s.deleteNeverRan(ctx); err != nil {
		return err
	}
	if err := s.rename(ctx); err != nil {
		return err
	}
	if err := s.noteByHand(ctx, seen); err != nil {
		return err
	}
	if err := s.takeBack(ctx, judged); err != nil {
		return err
	}
	if len(judged.Lost) > 0 {
		seen.silent = "" // nothing that is in the cluster is left in the state
	}
	lost, err := s.lostISOs(ctx)
	if err != nil {
		return err
	}
	targets, excluded := scope(w.targets, seen.silent != "")
	options := []optup.Option{optup.Target(targets), optup.Exclude(excluded), optup.Replace(lost), optup.SuppressOutputs()}
	err = s.onTargets(ctx, targets, func() error {
		return s.told(ctx, w.name, func(run engineRun) error {
			_, err := s.stack.Up(ctx, append(options, optup.ProgressStreams(run.out), optup.ErrorProgressStreams(run.err), optup.EventStreams(run.events))...)
			return err
		})
	})
	if _, lost := s.backUp(context.WithoutCancel(ctx), "after-up"); lost != nil {
		return errors.Join(err, lost)
	}
	if err != nil {
		return errors.Join(s.salvageCredentials(context.WithoutCancel(ctx)), s.failed(ctx, "up", err))
	}
	return nil
}
