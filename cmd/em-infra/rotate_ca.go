package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// unrotatedCAs is the text in the help of the commands about the other CAs.
const unrotatedCAs = `The CAs of etcd and of the aggregator cannot be replaced without an outage (siderolabs/talos#8808), so em-infra does not.
They are valid for ten years; status shows until when.`

func newRotateTalosCACommand() *cobra.Command {
	return caRotation{
		what: "talos-ca", short: "Replace the CA of the Talos API", example: "em-infra rotate talos-ca --stack k3s-dev --dry-run",
		long: `Replace the CA of the Talos API, with every certificate that it signed. Use it when a talosconfig leaked: nothing else revokes one.
First all nodes accept the new CA, then they issue with it, then they refuse the old one; each node is checked after each step. Nothing
reboots, and no workload is touched.`,
		refused: "talosconfigs", again: "credentials new",
		steps: operator.TalosCARotation, cost: "nothing in the cluster stops or restarts", rotate: (*operator.Operator).RotateTalosCA,
	}.command()
}

func newRotateKubernetesCACommand() *cobra.Command {
	return caRotation{
		what: "kubernetes-ca", short: "Replace the CA of Kubernetes", example: "em-infra rotate kubernetes-ca --stack k3s-dev --dry-run",
		long: `Replace the CA of Kubernetes, with every certificate that it signed. Use it when a kubeconfig leaked: nothing else revokes one. First
all nodes accept the new CA, then they issue with it, then they refuse the old one; each node is Ready again before the next one is
changed. Nothing reboots. Kubelets restart, and on control planes the API server, the controller manager and the scheduler.

When the nodes issue with the new CA, pods do not trust the API until their copy of the CA has changed, which takes a minute. Programs
that read the copy only at their start, such as those with client-go, do not trust it until they are restarted. So restart what talks
to the API when the command has ended: the network plugin, CoreDNS, Flux.`,
		refused: "kubeconfigs", again: "credentials new --kubeconfig",
		steps: operator.KubernetesCARotation, cost: operator.KubernetesCACost, rotate: (*operator.Operator).RotateKubernetesCA,
	}.command()
}

// caRotation is the command that replaces a CA.
type caRotation struct {
	what, short, long, example string
	refused, again             string // what the old CA signed, and the command that makes others
	steps                      []string
	cost                       string
	rotate                     func(*operator.Operator, context.Context, operator.RotationOptions) error
}

func (c caRotation) command() *cobra.Command {
	var (
		flags    stackFlags
		options  operator.RotationOptions
		isDryRun bool
	)
	command := &cobra.Command{
		Use:   c.what + " --stack STACK",
		Short: c.short,
		Long: c.long + `

If the command is killed, run it again: it goes on with the same new CA. Until then other commands refuse the stack.

` + unrotatedCAs,
		Example: "  " + c.example,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if isDryRun {
				return printStepsAt(streams.out, c.steps, c.cost)
			}
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			if err := c.rotate(o, command.Context(), options); err != nil {
				return err
			}
			place := o.Workspace()
			fmt.Fprintf(streams.out, "\nthe CA of stack %s is replaced: %s that were made before are refused\n", place.Stack, c.refused)
			fmt.Fprintf(streams.out, "the new ones of the administrator are in %s; others are made by %s\n", workspace.Nearby(place.Credentials), typed("%s %s", c.again, o.Place()))
			fmt.Fprintf(streams.out, "next: %s   # a new kit, with the new secrets\n", typed("kit create %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().BoolVar(&isDryRun, "dry-run", false, "print the steps and change nothing")
	bindWithout(command, &flags, &options)
	return command
}
