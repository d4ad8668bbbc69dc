package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// roleFlags are the flags of role.
type roleFlags struct {
	place  stackFlags
	pve    string
	output string
}

func newRoleCommand() *cobra.Command {
	var flags roleFlags
	command := &cobra.Command{
		Use:   "role [--pve RELEASE | --stack STACK]",
		Short: "Print what an API token of Proxmox VE needs, and compare it with what stands there",
		Long: `Print the commands that make the role, the user and the token with the least that em-infra needs, for the release given
with --pve or for that of the stack's host. With a stack, what stands on its host is compared, and the commands that mend
it are printed. Nothing is changed.

Exit codes: 0 everything is there, 2 something is missing on the stack's host, 3 refused.`,
		Example: "  em-infra role --pve 9.1\n  em-infra role --stack k3s-dev",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	command.Flags().StringVar(&flags.pve, "pve", "", "the release of Proxmox VE, as 8.4 or 9.1")
	command.Flags().StringVar(&flags.output, "output", "text", "text or json")
	return command
}

// privilegePlan is what is needed, and with a host, what it lacks.
type privilegePlan struct {
	Release  string       `json:"release"`
	Token    string       `json:"token"`
	Commands []string     `json:"commands"`
	Host     *roleOnHost  `json:"host,omitempty"`
	release  role.Release // of Release
}

// roleOnHost is what stands on a host.
type roleOnHost struct {
	Endpoint         string   `json:"endpoint"`
	RoleFound        bool     `json:"roleFound"`
	MissingFromRole  []string `json:"missingFromRole"`
	MissingFromToken []string `json:"missingFromToken"`
	Superfluous      []string `json:"superfluous"`
	Repairs          []string `json:"repairs"`
}

func (f *roleFlags) run(ctx context.Context, streams streams) error {
	if f.output != "text" && f.output != "json" {
		return refused(fmt.Errorf("--output: %q is no format: choose text or json", f.output))
	}
	plan, err := f.plan(ctx, streams)
	if err != nil {
		return err
	}
	if err := f.print(streams.out, plan); err != nil {
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
	case f.pve != "" && f.place.stack != "":
		return privilegePlan{}, refused(errors.New("--pve and --stack: which of the two is meant? give one"))
	case f.pve != "":
		release, err := role.ParseRelease(f.pve)
		if err != nil {
			return privilegePlan{}, refused(fmt.Errorf("--pve: %w", err))
		}
		return planFor(release, role.DefaultToken), nil
	}
	quiet := streams
	quiet.out = streams.err // what is said on the way must not stand among the commands
	s, err := openSession(ctx, f.place, want{newStack: true}, quiet)
	if err != nil {
		return privilegePlan{}, err
	}
	return compareRole(ctx, s.host)
}

func planFor(release role.Release, token role.Token) privilegePlan {
	return privilegePlan{Release: release.String(), Token: token.String(), Commands: role.Commands(release, token), release: release}
}

// compareRole reads what stands at the end of a connection.
func compareRole(ctx context.Context, host pve.Connection) (privilegePlan, error) {
	token, err := role.ParseToken(host.Token)
	if err != nil {
		return privilegePlan{}, refused(err)
	}
	reader, err := pve.NewReader(host)
	if err != nil {
		return privilegePlan{}, refused(err)
	}
	version, err := reader.Version(ctx)
	if err != nil {
		return privilegePlan{}, fmt.Errorf("the version of Proxmox VE at %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	release, err := role.ParseRelease(version)
	if err != nil {
		return privilegePlan{}, err
	}
	standing := role.Standing{}
	standing.Role, standing.RoleFound, err = reader.RolePrivileges(ctx, role.Name)
	if err == nil {
		standing.Effective, err = reader.Privileges(ctx, "/")
	}
	if err != nil {
		return privilegePlan{}, fmt.Errorf("the permissions on %s cannot be read (%w): see that the host answers", host.Endpoint, err)
	}
	plan := planFor(release, token)
	plan.Host = &roleOnHost{
		Endpoint: host.Endpoint, RoleFound: standing.RoleFound, MissingFromRole: standing.MissingFromRole(release),
		MissingFromToken: standing.MissingFromToken(release), Superfluous: standing.SuperfluousInRole(release),
		Repairs: role.Repairs(release, token, standing),
	}
	return plan, nil
}

func (f *roleFlags) print(out io.Writer, plan privilegePlan) error {
	switch {
	case f.output == "json":
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(plan)
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

func (h *roleOnHost) print(out io.Writer, plan privilegePlan) error {
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
