package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/risk"
)

// allowances are the dangerous operations that a person allows, each by its name.
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
