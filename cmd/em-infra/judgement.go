package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/recovery"
	"github.com/em-infra/em-infra/internal/risk"
)

// allowances are the deeds that a person allows, each by its name.
type allowances struct {
	replace, remove, change []string
	quorumLoss              bool
}

func (a *allowances) bind(command *cobra.Command, place *stackFlags) {
	command.Flags().StringSliceVar(&a.replace, risk.FlagReplace, nil, "a control plane that may be replaced")
	command.Flags().StringSliceVar(&a.remove, risk.FlagDelete, nil, "a control plane that may be deleted")
	command.Flags().StringSliceVar(&a.change, risk.FlagChange, nil, "what may be changed although the cluster depends on it: secrets")
	completeFlag(command, risk.FlagReplace, place.completeNodes)
	completeFlag(command, risk.FlagDelete, place.completeNodes)
	completeFlag(command, risk.FlagChange, oneOf(risk.SubjectSecrets))
	command.Flags().BoolVar(&a.quorumLoss, risk.FlagQuorumLoss, false, "etcd may lose its quorum, and the cluster its state")
}

func (a *allowances) permissions() ([]risk.Permission, error) {
	var given []risk.Permission
	for _, node := range a.replace {
		given = append(given, risk.Permission{Flag: risk.FlagReplace, Subject: node})
	}
	for _, node := range a.remove {
		given = append(given, risk.Permission{Flag: risk.FlagDelete, Subject: node})
	}
	for _, subject := range a.change {
		if subject != risk.SubjectSecrets {
			return nil, fmt.Errorf("--%s: %q is nothing that can be allowed: say %s", risk.FlagChange, subject, risk.SubjectSecrets)
		}
		given = append(given, risk.Permission{Flag: risk.FlagChange, Subject: subject})
	}
	if a.quorumLoss {
		given = append(given, risk.Permission{Flag: risk.FlagQuorumLoss})
	}
	return given, nil
}

// judgement is what a preview found.
type judgement struct {
	risk.Assessment
	changes      map[apitype.OpType]int
	byHand       bool                  // something was changed that the engine does not see
	unconfigured []recovery.Configured // machines that wait for the configuration that the state says they have
}

// hasChanges reports whether up would do anything.
func (j judgement) hasChanges() bool {
	return j.byHand || len(j.unconfigured) > 0 || hasChanges(j.changes)
}

// judge runs the engine's preview, adds what was seen besides, and judges both; of the targets alone, if there are any.
func (s *session) judge(ctx context.Context, seen look, targets []string, options ...optpreview.Option) (judgement, error) {
	options = append(options, seen.excluded()...)
	if err := s.tellPlugins(ctx); err != nil {
		return judgement{}, err
	}
	unconfigured, err := s.unconfigured(ctx)
	if err != nil {
		return judgement{}, err
	}
	changes, events, err := s.preview(ctx, options...)
	if err != nil {
		return judgement{}, err
	}
	events, changes = among(targets, events, changes)
	steps := risk.Steps(events)
	seen.mark(steps)
	judged := judgement{Assessment: s.assessSteps(steps, unconfigured...), changes: changes, byHand: len(seen.byHand) > 0, unconfigured: unconfigured}
	judged.Unasked = seen.unasked()
	return judged, nil
}

// assess judges what the engine would do, and says what is done before.
func (s *session) assess(seen []apitype.EngineEvent) risk.Assessment {
	return s.assessSteps(risk.Steps(seen))
}

func (s *session) assessSteps(steps []risk.Step, unconfigured ...recovery.Configured) risk.Assessment {
	assessment := risk.Assess(steps, namesOf(unconfigured)...)
	assessment.Notes = slices.Concat(assessment.Notes, s.promises(), s.adoptions())
	return assessment
}

// preview runs the engine's preview: what it counts, and all its events.
func (s *session) preview(ctx context.Context, options ...optpreview.Option) (changes map[apitype.OpType]int, seen []apitype.EngineEvent, err error) {
	lost, err := s.lostISOs(ctx)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, optpreview.Replace(lost))
	var result auto.PreviewResult
	seen, err = s.previewed(ctx, func(run engineRun) (err error) {
		result, err = s.stack.Preview(ctx, append(options, optpreview.ProgressStreams(run.out), optpreview.ErrorProgressStreams(run.err), optpreview.EventStreams(run.events))...)
		return err
	})
	return result.ChangeSummary, s.asAdopted(s.asMadeAnew(seen)), err
}

// weigh shows what a run would do, refuses what nobody has allowed, and asks for consent unless that is given.
func (s *session) weigh(ctx context.Context, judged judgement, given []risk.Permission) error {
	if err := judged.WriteText(s.out); err != nil {
		return err
	}
	if refusal := judged.Refusal(given); refusal != "" {
		return refused(errors.New(refusal))
	}
	if s.consent == "" {
		return nil
	}
	return s.ask(ctx)
}
