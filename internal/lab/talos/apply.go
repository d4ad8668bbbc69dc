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

// Texts with which Talos describes how a configuration is applied.
const (
	withReboot    = "Applied configuration with a reboot"
	withoutReboot = "Applied configuration without a reboot"
	atNextReboot  = "Staged configuration to be applied after the next reboot"
)

// plan describes how a configuration will be applied.
type plan struct {
	// mode is the effective mode, which replaces AUTO.
	mode machine.ApplyConfigurationRequest_Mode
	// details for the caller.
	details string
	// reason why a lighter mode is not possible.
	reason string
}

// ApplyConfiguration changes the configuration of a running node, as in Talos v1.12 (v1alpha1_server.go).
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

// errOnlyDocuments is Talos' error for a configuration without its main document.
var errOnlyDocuments = errors.New("the applied machine configuration doesn't contain v1alpha1 config, " +
	"did you mean to patch the machine config instead?")

// plan returns the mode for a configuration. The error means that the requested mode is too light.
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

// apply writes a configuration to the disk, and activates it now or by a reboot, depending on the mode.
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

// try activates a configuration without writing it, and returns to the former one after the timeout.
func (s *system) try(cfg config.Provider, timeout time.Duration) error {
	s.keepTried()

	former := s.config()
	ctx, cancel := context.WithCancel(s.ctx)

	s.mu.Lock()
	s.rollback = cancel
	s.mu.Unlock()

	s.inBackground(func(context.Context) error {
		if s.fleet.config.Pace.Sleep(ctx, timeout) != nil {
			return nil // confirmed, replaced, or the system has ended
		}

		return s.activate(former)
	})

	return s.activate(cfg)
}

// keepTried stops the timeout of a tried configuration.
func (s *system) keepTried() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.rollback != nil {
		s.rollback()
		s.rollback = nil
	}
}
