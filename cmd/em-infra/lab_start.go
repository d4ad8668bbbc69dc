package main

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func newLabStartCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices lab.Choices
	command := &cobra.Command{
		Use:   "start --stack STACK",
		Short: "Start the lab of a stack; one that was stopped comes back as it was",
		Long: `Start the lab of a stack. One that was stopped comes back as a host does after a power cut: what was half done stays
half done (a clone leaves a locked VM, see "em-infra lab unlock"), and faults that were asked for are gone.

Stacks that "em-infra site up --lab" has brought up share one lab.`,
		Example: `  em-infra lab start --stack k3s-dev
  em-infra lab start --stack k3s-dev --time-scale 1   # as slow as a small server
  em-infra lab start --stack k3s-dev --pve 9.1        # a new lab only: the release stays`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.openChosen(streams, choices)
			if err != nil {
				return err
			}
			return o.StartLab(command.Context())
		},
	}
	flags.bindPlace(command)
	bindChoices(command, &choices)
	return command
}

// printLab prints where a lab is.
func printLab(out io.Writer, host operator.LabHost, nodes int) {
	fmt.Fprintf(out, " lab        host %s (PVE %s) on %s, %d nodes on %s, time scale %g\n", host.Name, host.Release, host.Address, nodes, joinedNetworks(host.Networks), host.TimeScale)
}

func joinedNetworks(networks []netip.Prefix) string {
	var texts []string
	for _, network := range networks {
		texts = append(texts, network.String())
	}
	return strings.Join(texts, " and ")
}

// bindChoices adds the flags of a lab that is created or started.
func bindChoices(command *cobra.Command, choices *lab.Choices) {
	choices.Bind(command, "the stack's name")
	completeFlag(command, "pve", completeReleases)
}
