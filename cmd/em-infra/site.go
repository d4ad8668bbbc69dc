package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// newSiteCommand works on all stacks of the project, layer by layer.
func newSiteCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "site",
		Short: "All stacks of the project, layer by layer: hosts, systems, platforms",
	}
	command.AddCommand(newSiteUpCommand(), newSitePreviewCommand(), newSiteStatusCommand(), newSiteGraphCommand(), newSiteReportCommand(), newSiteDestroyCommand())
	return command
}

func newSiteUpCommand() *cobra.Command {
	var place stackFlags
	var choices lab.Choices
	command := &cobra.Command{
		Use:   "up",
		Short: "Bring up each stack, the lowest layer first; stops at the first that does not come up",
		Long: `Bring up each stack of the project as up does, one after the other: stacks of hosts, then of systems, then of platforms, those of one layer
by their names. Each has its own checks, questions and state. It stops at the first that is refused or fails; run again, it goes on from
there, for a stack that is up is not changed. What needs the flag of up that allows it, such as --allow-replace, is
done by an up of that stack alone.

With --lab the whole site is rehearsed: stacks of one Proxmox VE, by the endpoints in their files, share one lab from then on. Its hosts have what the
stacks need, except for what a stack of hosts makes.`,
		Example: "  em-infra site up --lab --yes\n  em-infra site up",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSite(command, operator.SiteUp, siteOptions(place, choices, streamsOf(command)))
		},
	}
	place.bindChanges(command)
	bindChoices(command, &choices)
	return command
}

func newSitePreviewCommand() *cobra.Command {
	var place stackFlags
	command := &cobra.Command{
		Use:   "preview",
		Short: "Show what site up would do in each stack; exit code 2 if it would do something",
		Long: `Show what up would do in each stack of the project, and change nothing. A stack may be refused because a lower layer is not up yet.

Exit codes: 0 nothing would change, 2 something would, 3 up would refuse a stack, 1 a preview failed.`,
		Example: "  em-infra site preview --lab",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSite(command, operator.SitePreview, siteOptions(place, lab.Choices{}, streamsOf(command)))
		},
	}
	place.bindLab(command)
	return command
}

func newSiteStatusCommand() *cobra.Command {
	var place stackFlags
	command := &cobra.Command{
		Use:     "status",
		Short:   "Show the status of each stack; only reads",
		Long:    "Show the status of each stack of the project.\n\nExit codes: 0 everything is sound, 3 a stack is refused, 1 something is not sound, or could not be read.",
		Example: "  em-infra site status",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSite(command, operator.SiteStatus, siteOptions(place, lab.Choices{}, streamsOf(command).aside()))
		},
	}
	place.bindLab(command)
	return command
}

func newSiteDestroyCommand() *cobra.Command {
	var place stackFlags
	command := &cobra.Command{
		Use:   "destroy",
		Short: "Destroy each stack, the highest layer first; stops at the first that is not destroyed",
		Long: `Destroy each stack of the project as destroy does, in the order opposite to that of site up. It stops at the first that is refused, as a protected one
is, or fails; run again, it goes on from there.`,
		Example: "  em-infra site destroy --lab --yes",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runSite(command, operator.SiteDestroy, siteOptions(place, lab.Choices{}, streamsOf(command)))
		},
	}
	place.bindChanges(command)
	return command
}

// bindChanges adds the flags of the commands that change every stack of a site.
func (f *stackFlags) bindChanges(command *cobra.Command) {
	f.bindLab(command)
	f.bindYes(command)
	f.bindKeep(command)
	f.bindWait(command)
	f.bindVerbose(command)
}
