package talos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Sentences by which Talos tells how a configuration is applied.
const (
	withReboot    = "Applied configuration with a reboot"
	withoutReboot = "Applied configuration without a reboot"
	atNextReboot  = "Staged configuration to be applied after the next reboot"
)

// plan is how a configuration will be applied.
type plan struct {
	// mode that is really taken, in place of AUTO.
	mode machine.ApplyConfigurationRequest_Mode
	// details tell the caller of it.
	details string
	// reason is why the mode is not a lighter one.
	reason string
}

// ApplyConfiguration changes the configuration of a running node, as Talos v1.12 does (v1alpha1_server.go).
func (m *machinedServer) ApplyConfiguration(
	ctx context.Context, in *machine.ApplyConfigurationRequest,
) (*machine.ApplyConfigurationResponse, error) {
	if in.GetMode() != machine.ApplyConfigurationRequest_TRY {
		m.system.keepTried()
	}

	cfg, warnings, err := m.judge(ctx, in.GetData())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	p, err := m.plan(in.GetMode(), cfg)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	answer := &machine.ApplyConfiguration{Mode: p.mode, ModeDetails: p.details + p.reason, Warnings: warnings}

	switch {
	case in.GetDryRun():
		answer.Warnings = nil
		answer.ModeDetails, err = m.dryRun(p, cfg)
	case p.mode == machine.ApplyConfigurationRequest_TRY:
		timeout := constants.ConfigTryTimeout
		if in.GetTryModeTimeout() != nil {
			timeout = in.GetTryModeTimeout().AsDuration()
		}

		answer.ModeDetails += fmt.Sprintf("\nThe config is applied in 'try' mode and will be automatically reverted back in %s", timeout)
		err = m.system.try(cfg, timeout)
	default:
		err = m.system.apply(cfg, p.mode)
	}

	if err != nil {
		return nil, err
	}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{answer}}, nil
}

func (m *machinedServer) judge(ctx context.Context, data []byte) (config.Provider, []string, error) {
	cfg, err := configloader.NewFromBytes(data)
	if err != nil {
		return nil, nil, err
	}

	if cfg.RawV1Alpha1() == nil {
		return nil, nil, errOnlyDocuments
	}

	warnings, err := m.system.validate(ctx, cfg, "", "")

	return cfg, warnings, err
}

// errOnlyDocuments is Talos' refusal of a configuration that would leave the node without its main part.
var errOnlyDocuments = errors.New("the applied machine configuration doesn't contain v1alpha1 config, " +
	"did you mean to patch the machine config instead?")

// plan finds the mode for a configuration; the error is a mode that was asked for and is too light.
func (m *machinedServer) plan(asked machine.ApplyConfigurationRequest_Mode, cfg config.Provider) (plan, error) {
	tooHeavy := canApplyImmediately(m.system.config(), cfg)

	switch asked {
	case machine.ApplyConfigurationRequest_TRY, machine.ApplyConfigurationRequest_NO_REBOOT:
		return plan{asked, withoutReboot, ""}, tooHeavy
	case machine.ApplyConfigurationRequest_STAGED:
		return plan{asked, atNextReboot, ""}, nil
	case machine.ApplyConfigurationRequest_AUTO:
		if tooHeavy != nil {
			return plan{machine.ApplyConfigurationRequest_REBOOT, withReboot, ": " + tooHeavy.Error()}, nil
		}

		return plan{machine.ApplyConfigurationRequest_NO_REBOOT, withoutReboot, ""}, nil
	case machine.ApplyConfigurationRequest_REBOOT:
		return plan{asked, withReboot, ""}, nil
	default:
		return plan{}, fmt.Errorf("incorrect mode '%s' specified for the apply config call", asked)
	}
}

func (m *machinedServer) dryRun(p plan, cfg config.Provider) (string, error) {
	diff, err := configdiff.DiffToString(m.system.config(), cfg)
	if err != nil {
		return "", fmt.Errorf("failed to generate diff: %w", err)
	}

	if diff == "" {
		diff = "No changes."
	}

	return fmt.Sprintf("Dry run summary:\n%s (skipped in dry-run).\nConfig diff:\n\n%s", p.details, diff), nil
}

// apply persists a configuration, and takes it up now or by a reboot as the mode says.
func (s *system) apply(cfg config.Provider, mode machine.ApplyConfigurationRequest_Mode) error {
	if err := s.installed().writeConfig(cfg); err != nil {
		return err
	}

	switch mode {
	case machine.ApplyConfigurationRequest_NO_REBOOT:
		return s.activate(cfg)
	case machine.ApplyConfigurationRequest_REBOOT:
		return s.request(command{sequence: sequenceReboot})
	default:
		return nil
	}
}

// try takes a configuration up without persisting it, and goes back to the former one after the timeout.
func (s *system) try(cfg config.Provider, timeout time.Duration) error {
	s.keepTried()

	former := s.config()
	ctx, cancel := context.WithCancel(s.ctx)

	s.mu.Lock()
	s.rollback = cancel
	s.mu.Unlock()

	s.inBackground(func(context.Context) error {
		if s.fleet.config.Pace.Sleep(ctx, timeout) != nil {
			return nil // kept, replaced or gone with the system
		}

		return s.activate(former)
	})

	return s.activate(cfg)
}

// keepTried ends the time after which a tried configuration is taken back.
func (s *system) keepTried() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.rollback != nil {
		s.rollback()
		s.rollback = nil
	}
}
