package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

func newCredentialsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "credentials",
		Short: "Credentials with a role and a lifetime of their own",
	}
	command.AddCommand(newCredentialsNewCommand())
	return command
}

// credentialsFlags are the flags of credentials new.
type credentialsFlags struct {
	place         stackFlags
	role, out     string
	ttl           time.Duration
	forKubernetes bool
	user          string
	groups        []string
}

// defaultTTL is how long a certificate is valid, as for `talosctl config new` (talos v1.12.0, cmd/talosctl/cmd/talos/config.go).
const defaultTTL = 24 * time.Hour

func newCredentialsNewCommand() *cobra.Command {
	var flags credentialsFlags
	command := &cobra.Command{
		Use:   "new --stack STACK [--role ROLE | --kubeconfig --user NAME] [--ttl TIME] [--out FILE]",
		Short: "Make a talosconfig or a kubeconfig with a role and a lifetime",
		Long: `Make a talosconfig, or with --kubeconfig a kubeconfig, whose client certificate is signed with the machine secrets in the state.
Neither the host nor the cluster is asked, and nothing in them changes. The file is readable by its owner only. Without --out it is
written beside the kubeconfig of the stack; with --out - the text is printed, also to a terminal.

Roles of the Talos API: os:reader reads what is no secret, os:operator may also reboot and shut down nodes and take snapshots of
etcd, os:etcd:backup may only take those, os:admin may do everything. What the user of a kubeconfig may do is decided by RoleBindings
for --user and --group; the group system:masters may do everything.

A certificate cannot be revoked: it ends by itself, or with the CA that signed it. So choose a short --ttl.`,
		Example: `  em-infra credentials new --stack k3s-dev --role os:reader --ttl 8h
  em-infra credentials new --stack k3s-dev --kubeconfig --user anna --group view --ttl 8h --out anna.yaml`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command)
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	command.Flags().StringVar(&flags.role, "role", "os:reader", "of a talosconfig: "+strings.Join(operator.TalosRoles, ", "))
	completeFlag(command, "role", oneOf(operator.TalosRoles...))
	command.Flags().DurationVar(&flags.ttl, "ttl", defaultTTL, "how long the certificate is valid, e.g. 30m or 8h")
	command.Flags().BoolVar(&flags.forKubernetes, "kubeconfig", false, "make a kubeconfig")
	command.Flags().StringVar(&flags.user, "user", "", "of a kubeconfig: the name of the user")
	command.Flags().StringSliceVar(&flags.groups, "group", nil, "of a kubeconfig: a group of the user")
	command.Flags().StringVar(&flags.out, "out", "", "the file, which must not exist yet; - prints the text")
	return command
}

func (f *credentialsFlags) run(command *cobra.Command) error {
	if err := f.check(command); err != nil {
		return err
	}
	streams := streamsOf(command)
	o, err := f.place.open(streams.aside())
	if err != nil {
		return err
	}
	issued, err := f.issue(command.Context(), o)
	if err != nil {
		return err
	}
	if f.out == "-" {
		_, err := streams.out.Write(issued.Text)
		return err
	}
	file, err := o.KeepCredentials(issued, f.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.out, "%s: %s, until %s UTC\n", workspace.Nearby(file), f.about(), issued.Ends.UTC().Format(madeAt))
	return err
}

// check refuses flags that do not fit together, before anything is read.
func (f *credentialsFlags) check(command *cobra.Command) error {
	switch changed := command.Flags().Changed; {
	case f.forKubernetes && changed("role"):
		return refused(errors.New("--role is for a talosconfig, and --kubeconfig makes a kubeconfig: leave one of the two out"))
	case f.forKubernetes:
		return f.forUser().Check()
	case changed("user") || changed("group"):
		return refused(errors.New("--user and --group are for a kubeconfig: add --kubeconfig, or leave them out"))
	default:
		return f.withRole().Check()
	}
}

func (f *credentialsFlags) withRole() operator.TalosconfigOptions {
	return operator.TalosconfigOptions{Role: f.role, TTL: f.ttl}
}

func (f *credentialsFlags) forUser() operator.KubeconfigOptions {
	return operator.KubeconfigOptions{User: f.user, Groups: f.groups, TTL: f.ttl}
}

func (f *credentialsFlags) issue(ctx context.Context, o *operator.Operator) (*operator.IssuedCredentials, error) {
	if f.forKubernetes {
		return o.IssueKubeconfig(ctx, f.forUser())
	}
	return o.IssueTalosconfig(ctx, f.withRole())
}

// about returns what the credentials are good for.
func (f *credentialsFlags) about() string {
	switch {
	case !f.forKubernetes:
		return "a talosconfig with the role " + f.role
	case len(f.groups) > 0:
		return "a kubeconfig of the user " + f.user + " in " + strings.Join(f.groups, ", ")
	default:
		return "a kubeconfig of the user " + f.user
	}
}
