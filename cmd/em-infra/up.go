package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/shell"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

// upFlags are the flags of up.
type upFlags struct {
	place   stackFlags
	choices lab.Choices
	allowed allowances
	phases  phaseFlags

	canary, onlyNode, plan string
	interfaces             []string
}

func newUpCommand() *cobra.Command {
	var flags upFlags
	command := &cobra.Command{
		Use:   "up --stack STACK",
		Short: "Bring the cluster to what the inventory says; safe to run again",
		Long: `Bring the cluster to what the inventory says. First the host is checked, the state is backed up, what a killed run left behind is
settled, and the changes are shown. At the end the nodes and the Kubernetes API are checked.

The phases are generate (machine secrets, schematics), provision (templates, machines), bootstrap (machine configurations,
etcd, kubeconfig), addons and verify.

Changes made by hand on the host are overwritten. The host is read before anything is compared; --refresh=false skips that.`,
		Example: `  em-infra up --stack k3s-dev --lab --yes        # rehearse on the emulated host
  em-infra up --stack k3s-dev                    # on the real one, after a look at the preview
  em-infra up --stack k3s-dev --until provision  # the machines alone, in maintenance mode
  em-infra up --stack k3s-dev --only addons      # again what failed
  em-infra up --stack k3s-dev --canary k3s-dev-worker-1     # another version of Talos comes to this node first
  em-infra up --stack k3s-dev --only-node k3s-dev-worker-1  # and to no other one`,
		RunE: func(command *cobra.Command, _ []string) error {
			return flags.run(command.Context(), streamsOf(command))
		},
	}
	flags.place.bindPlace(command)
	flags.place.bindLab(command)
	flags.place.bindYes(command)
	flags.place.bindKeep(command)
	flags.place.bindWait(command)
	flags.place.bindVerbose(command)
	bindChoices(command, &flags.choices)
	flags.allowed.bind(command, &flags.place)
	flags.phases.bind(command)
	flags.place.bindRefresh(command)
	command.Flags().StringVar(&flags.canary, "canary", "", "the node that another image of Talos comes to before all others, instead of the inventory's upgrade.canary")
	command.Flags().StringVar(&flags.onlyNode, "only-node", "", "change this node alone; the others keep what they run until a later up")
	command.Flags().StringVar(&flags.plan, "plan", "", "carry out the plan with this fingerprint, which preview shows, and refuse any other one")
	command.Flags().StringArrayVar(&flags.interfaces, "allow-interface", nil, "change this interface of a host, as `HOST/INTERFACE`, although the API is reached by it; may be given more than once")
	completeFlag(command, "canary", flags.place.completeNodes)
	completeFlag(command, "only-node", flags.place.completeNodes)
	return command
}

func (f *upFlags) run(ctx context.Context, streams streams) error {
	options, spanErr := f.phases.options()
	var allowErr error
	options.Allow, allowErr = f.allowed.permissions()
	if err := errors.Join(spanErr, allowErr); err != nil {
		return refused(err)
	}
	options.AllowInterfaces = f.interfaces
	options.SkipRefresh, options.Canary, options.OnlyNode, options.Plan = !f.place.refresh, f.canary, f.onlyNode, f.plan
	o, err := f.place.openChosen(streams, f.choices)
	if err != nil {
		return err
	}
	result, err := o.Up(ctx, options)
	if err != nil {
		return err
	}
	return printUp(streams.out, o.Workspace().Stack, result, o.Place())
}

// printUp prints the end of a run.
func printUp(out io.Writer, stack string, result *operator.UpResult, place string) error {
	switch {
	case result.Last != phase.Verify:
		printPhaseDone(out, result.Last, place)
	case result.Kind != operator.KindPlatform:
		printLayerUp(out, stack, result, place)
	default:
		return printSummary(out, result, place)
	}
	return nil
}

// printLayerUp prints the end of a run on a stack that is no cluster.
func printLayerUp(out io.Writer, stack string, result *operator.UpResult, place string) {
	headline := terminal.Paint(out, terminal.Good, stack+" is up")
	fmt.Fprintf(out, "\n%s in %s\n", headline, result.Took.Round(100*time.Millisecond))
	printByHand(out, result.ByHand)
	printNext(out, "next", typed("status %s", place), typed("destroy %s", place))
}

// printPhaseDone prints the end of a run that stops after a phase.
func printPhaseDone(out io.Writer, last operator.Phase, place string) {
	fmt.Fprintf(out, "\nphase %s is done, as asked for\n", last)
	printNext(out, "next", typed("up %s", place))
}

// printSummary prints the cluster with the versions that the nodes report, and the next commands.
func printSummary(out io.Writer, result *operator.UpResult, place string) error {
	if result.Restored != nil {
		if err := printRestored(out, result); err != nil {
			return err
		}
	}
	headline := terminal.Paint(out, terminal.Good, result.Outputs.ClusterName+" is up")
	fmt.Fprintf(out, "\n%s in %s · %s\n", headline, result.Took.Round(100*time.Millisecond), result.Outputs.KubernetesEndpoint)
	kubeconfig := workspace.Nearby(result.Kubeconfig)
	fmt.Fprintf(out, "  runs         %s\n", result.Report.Versions())
	fmt.Fprintf(out, "  kubeconfig   %s\n", kubeconfig)
	fmt.Fprintf(out, "  talosconfig  %s\n", workspace.Nearby(result.Talosconfig))
	printByHand(out, result.ByHand)
	printNext(out, "next", "kubectl --kubeconfig "+shell.Word(kubeconfig)+" get nodes", typed("status %s", place), typed("destroy %s", place))
	return nil
}

// printByHand prints what a person has yet to do on the hosts.
func printByHand(out io.Writer, left operator.Checks) {
	if len(left) == 0 {
		return
	}
	fmt.Fprintln(out, "left for you:")
	left.At(here()).WriteText(out)
}

// printNext prints commands, each on a line of its own, to be copied.
func printNext(out io.Writer, when string, commands ...string) {
	fmt.Fprintf(out, "%s:\n", when)
	for _, command := range commands {
		fmt.Fprintf(out, "  %s\n", command)
	}
}
