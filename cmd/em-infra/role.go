package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/operator"
)

// roleFlags are the flags of role.
type roleFlags struct {
	place      stackFlags
	pve        string
	guestAgent bool
	snapshots  bool
	backups    bool
	output     string
}

func newRoleCommand() *cobra.Command {
	var flags roleFlags
	command := &cobra.Command{
		Use:   "role [--pve RELEASE [--guest-agent] [--snapshots] [--backups] | --stack STACK]",
		Short: "Print what an API token of Proxmox VE needs, and compare it with the host",
		Long: `Print the commands that make the role, the user and the token with the least that em-infra needs, for the release given
with --pve or for that of the stack's host. With a stack, the role on its host is compared, and the commands that repair
it are printed. Nothing is changed. The privilege to ask guest agents is included if the inventory has the extension
siderolabs/qemu-guest-agent; with --pve, use --guest-agent for that. A stack of systems that takes snapshots before
changes needs one more: use --pve with --snapshots for that. So does a stack of hosts with backup jobs of pools: --backups.

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
	command.Flags().BoolVar(&flags.snapshots, "snapshots", false, "with --pve: a systems.yaml has snapshots")
	command.Flags().BoolVar(&flags.backups, "backups", false, "with --pve: a hosts.yaml has backup jobs of pools")
	bindOutput(command, &flags.output)
	return command
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
	return plan.Err()
}

func (f *roleFlags) plan(ctx context.Context, streams streams) (*operator.PrivilegePlan, error) {
	switch {
	case f.pve == "" && f.place.stack == "":
		return nil, refused(errors.New("for which release? add --pve 8.4 or --pve 9.1, or --stack NAME to ask the stack's host"))
	case f.guestAgent && f.pve == "":
		return nil, refused(errors.New("--guest-agent cannot stand beside --stack: the stack's inventory decides that: remove --guest-agent"))
	case f.snapshots && f.pve == "":
		return nil, refused(errors.New("--snapshots cannot stand beside --stack: preflight of a stack of systems says what its snapshots need: remove --snapshots"))
	case f.backups && f.pve == "":
		return nil, refused(errors.New("--backups cannot stand beside --stack: preflight of a stack of hosts says what its backup jobs need: remove --backups"))
	case f.pve != "" && f.place.stack != "":
		return nil, refused(errors.New("--pve and --stack: which of the two is meant? give one"))
	case f.pve != "":
		release, err := role.ParseRelease(f.pve)
		if err != nil {
			return nil, refused(fmt.Errorf("--pve: %w", err))
		}
		if err := release.Check(); err != nil {
			return nil, refused(fmt.Errorf("--pve: %w", err))
		}
		return operator.PlanRole(role.Need{Release: release, GuestAgent: f.guestAgent, Snapshots: f.snapshots, Backups: f.backups}, role.DefaultToken), nil
	}
	o, err := f.place.open(streams.aside())
	if err != nil {
		return nil, err
	}
	return o.Role(ctx)
}

func (f *roleFlags) print(out io.Writer, plan *operator.PrivilegePlan) error {
	switch {
	case f.output == outputJSON:
		return writeJSON(out, plan)
	case plan.Host != nil:
		return printRoleOnHost(out, plan)
	}
	_, err := fmt.Fprintf(out, `# Proxmox VE %s, as root on the host; the last line prints the token's secret, once
%s
# then, with that secret:
# pulumi config set --stack STACK --secret em-infra:proxmoxToken '%s=SECRET'
`, plan.Release, strings.Join(plan.Commands, "\n"), plan.Token)
	return err
}

// printRoleOnHost prints what the role and the token on the host lack, and the commands that add it.
func printRoleOnHost(out io.Writer, plan *operator.PrivilegePlan) error {
	h := plan.Host
	var text strings.Builder
	fmt.Fprintf(&text, "# Proxmox VE %s at %s\n", plan.Release, h.Endpoint)
	switch {
	case !h.RoleFound:
		fmt.Fprintf(&text, "# there is no role %s\n", role.Name)
	case len(h.MissingFromRole) > 0:
		fmt.Fprintf(&text, "# role %s lacks %s\n", role.Name, strings.Join(h.MissingFromRole, ", "))
	default:
		fmt.Fprintf(&text, "# role %s has all that is needed\n", role.Name)
	}
	if len(h.Superfluous) > 0 {
		fmt.Fprintf(&text, "# role %s has more than is needed: %s\n", role.Name, strings.Join(h.Superfluous, ", "))
	}
	if len(h.MissingFromToken) > 0 {
		fmt.Fprintf(&text, "# token %s lacks on /: %s\n", plan.Token, strings.Join(h.MissingFromToken, ", "))
	} else {
		fmt.Fprintf(&text, "# token %s has all of it on /\n", plan.Token)
	}
	if len(h.Repairs) > 0 {
		fmt.Fprintf(&text, "# as root on the host:\n%s\n", strings.Join(h.Repairs, "\n"))
	}
	_, err := io.WriteString(out, text.String())
	return err
}
