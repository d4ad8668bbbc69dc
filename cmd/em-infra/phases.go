package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
)

// phaseFlags choose a part of the life of a cluster.
type phaseFlags struct{ until, only string }

func (f *phaseFlags) bind(command *cobra.Command) {
	var known []string
	for _, one := range phase.All {
		known = append(known, one.String())
	}
	phases := strings.Join(known, ", ")
	command.Flags().StringVar(&f.until, "until", "", "stop after a phase: "+phases)
	command.Flags().StringVar(&f.only, "only", "", "run one phase alone, after the earlier phases are done")
	completeFlag(command, "until", oneOf(known...))
	completeFlag(command, "only", oneOf(known...))
}

// options returns the flags as options. Without them a run goes through all phases.
func (f *phaseFlags) options() (operator.UpOptions, error) {
	until, untilErr := parsePhase(f.until)
	only, onlyErr := parsePhase(f.only)
	return operator.UpOptions{Until: until, Only: only}, errors.Join(untilErr, onlyErr)
}

// parsePhase reads the name of a phase; "" is 0, for none.
func parsePhase(name string) (operator.Phase, error) {
	if name == "" {
		return 0, nil
	}
	return phase.Parse(name)
}
