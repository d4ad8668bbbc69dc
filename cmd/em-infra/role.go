package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/preflight"
	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/internal/terminal"
)

// roleFlags are the flags of role.
type roleFlags struct {
	place      stackFlags
	pve        string
	guestAgent bool
	output     string
}

func newRoleCommand() *cobra.Command {
	var flags roleFlags
	command := &cobra.Command{
		Use:   "role [--pve RELEASE [--guest-agent] | --stack STACK]",
		Short: "Print what an API token of Proxmox VE needs, and compare it with what stands there",
		Long: `Print the commands that make the role, the user and the token with the least that em-infra needs, for the release given
with --pve or for that of the stack's host. With a stack, what stands on its host is compared, and the commands that mend
it are printed. Nothing is changed. The privilege to ask guest agents is asked for where the inventory has the extension
siderolabs/qemu-guest-agent; with --pve, --guest-agent stands for that.

Exit codes: 0 everything is there, 2 something is missing on the stack's host, 3 refused.`,
		Example: "  em-infra role --pve 9.1\n  em-infra role --stack k3s-dev",
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	command.Flags().StringVar(&flags.pve, "pve", "", "the release of Proxmox VE, as 8.4 or 9.1")
	completeFlag(command, "pve", completeReleases)
	command.Flags().BoolVar(&flags.guestAgent, "guest-agent", false, "with --pve: the images have siderolabs/qemu-guest-agent")
	bindOutput(command, &flags.output)
	return command
}

// privilegePlan is what is needed, and with a host, what it lacks.
type privilegePlan struct {
	// Release is that of Proxmox VE which the privileges are for.
	Release string `json:"release"`
	// Token is the ID of the token.
	Token string `json:"token"`
	// Commands make user, role and token as root on the host.
	Commands []string `json:"commands"`
	// Host is what a host has of it, where one was asked.
	Host *roleOnHost `json:"host,omitempty"`
}

func (f *roleFlags) run(ctx context.Context, streams streams) error {
	if err := checkOutput(f.output); err != nil {
		return err
	}
	plan, err := f.plan(ctx, streams)
	if err != nil {
		return err
	}
	if err := f.print(terminal.Raw(streams.out), plan); err != nil {
		return err
	}
	if plan.Host != nil && len(plan.Host.Repairs) > 0 {
		return changesFound()
	}
	return nil
}

func (f *roleFlags) plan(ctx context.Context, streams streams) (privilegePlan, error) {
	switch {
	case f.pve == "" && f.place.stack == "":
		return privilegePlan{}, refused(errors.New("for which release? add --pve 8.4 or --pve 9.1, or --stack NAME to ask the stack's host"))
	case f.guestAgent && f.pve == "":
		return privilegePlan{}, refused(errors.New("--guest-agent cannot stand beside --stack: the stack's inventory decides that: remove --guest-agent"))
	case f.pve != "" && f.place.stack != "":
		return privilegePlan{}, refused(errors.New("--pve and --stack: which of the two is meant? give one"))
	case f.pve != "":
		release, err := role.ParseRelease(f.pve)
		if err != nil {
			return privilegePlan{}, refused(fmt.Errorf("--pve: %w", err))
		}
		if err := preflight.CheckRelease(release); err != nil {
			return privilegePlan{}, refused(fmt.Errorf("--pve: %w", err))
		}
		return planFor(role.Need{Release: release, GuestAgent: f.guestAgent}, role.DefaultToken), nil
	}
	s, err := openSession(ctx, f.place, want{newStack: true}, streams.aside())
	if err != nil {
		return privilegePlan{}, err
	}
	return compareRole(ctx, s.host, guestagent.In(s.inventory.Cluster.Talos.Schematic.Extensions))
}

func planFor(need role.Need, token role.Token) privilegePlan {
	return privilegePlan{Release: need.Release.String(), Token: token.String(), Commands: role.Commands(need, token)}
}

func (f *roleFlags) print(out io.Writer, plan privilegePlan) error {
	switch {
	case f.output == outputJSON:
		return writeJSON(out, plan)
	case plan.Host != nil:
		return plan.Host.print(out, plan)
	}
	_, err := fmt.Fprintf(out, `# Proxmox VE %s, as root on the host; the last line prints the token's secret, once
%s
# then, with that secret:
# pulumi config set --stack STACK --secret em-infra:proxmoxToken '%s=SECRET'
`, plan.Release, strings.Join(plan.Commands, "\n"), plan.Token)
	return err
}
