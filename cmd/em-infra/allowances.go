package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
)

// allowances are the dangerous operations that the user allows, each by its name.
type allowances struct {
	replace, remove, change []string
	versionSkip             bool
}

func (a *allowances) bind(command *cobra.Command, place *stackFlags) {
	command.Flags().StringSliceVar(&a.replace, operator.FlagReplace, nil, "a control plane or a system that may be replaced")
	command.Flags().StringSliceVar(&a.remove, operator.FlagDelete, nil, "a control plane or a system that may be deleted")
	command.Flags().StringSliceVar(&a.change, operator.FlagChange, nil, "a change to something that the cluster depends on: secrets")
	completeFlag(command, operator.FlagReplace, place.completeGuests)
	completeFlag(command, operator.FlagDelete, place.completeGuests)
	completeFlag(command, operator.FlagChange, oneOf(operator.SubjectSecrets))
	command.Flags().BoolVar(&a.versionSkip, operator.FlagVersionSkip, false, "an upgrade of Talos may leave out a minor release, or the latest patch release of one")
}

func (a *allowances) permissions() ([]operator.Permission, error) {
	var given []operator.Permission
	for _, node := range a.replace {
		given = append(given, operator.Permission{Flag: operator.FlagReplace, Subject: node})
	}
	for _, node := range a.remove {
		given = append(given, operator.Permission{Flag: operator.FlagDelete, Subject: node})
	}
	for _, subject := range a.change {
		if subject != operator.SubjectSecrets {
			return nil, fmt.Errorf("--%s: %q is nothing that can be allowed: say %s", operator.FlagChange, subject, operator.SubjectSecrets)
		}
		given = append(given, operator.Permission{Flag: operator.FlagChange, Subject: subject})
	}
	if a.versionSkip {
		given = append(given, operator.Permission{Flag: operator.FlagVersionSkip})
	}
	return given, nil
}
