// Command embedding brings a cluster up and down from a Go program, without the em-infra command line.
//
// It needs what every run needs: the Pulumi CLI on PATH, PULUMI_BACKEND_URL and the passphrase in the environment, and a
// project folder with Pulumi.yaml and the stack's file.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/em-infra/em-infra/stacks"
)

func main() {
	name := flag.String("stack", "k3s-dev", "the stack")
	project := flag.String("project", ".", "the folder with Pulumi.yaml")
	inventory := flag.String("inventory", "", "the folder with cluster.yaml and nodes.yaml; default: the one that the stack's configuration names")
	destroy := flag.Bool("destroy", false, "delete the cluster instead")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	stack, err := open(ctx, *name, *project, *inventory)
	switch {
	case err != nil:
	case *destroy:
		err = down(ctx, stack)
	default:
		err = up(ctx, stack)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// open selects the stack and makes it if it is not there.
func open(ctx context.Context, name, project, inventory string) (auto.Stack, error) {
	command, err := auto.NewPulumiCommand(nil)
	if err != nil {
		return auto.Stack{}, err
	}
	return stacks.Upsert(ctx, stacks.Embedding{
		Stack:   name,
		WorkDir: project,
		Command: command,
		Program: stacks.Program(stacks.Options{Root: project, Inventory: inventory}),
	})
}

// up shows first what it will do. The outputs are a struct; two of them are secrets and not for printing.
func up(ctx context.Context, stack auto.Stack) error {
	preview, err := stack.Preview(ctx, optpreview.Refresh())
	if err != nil {
		return err
	}
	fmt.Println("to do:", preview.ChangeSummary)
	result, err := stack.Up(ctx, optup.Refresh(), optup.ErrorProgressStreams(os.Stderr))
	if err != nil {
		return err
	}
	outputs, err := stacks.ParseOutputs(result.Outputs)
	if err != nil {
		return err
	}
	fmt.Println(outputs.ClusterName, "is up at", outputs.KubernetesEndpoint)
	return nil
}

func down(ctx context.Context, stack auto.Stack) error {
	_, err := stack.Destroy(ctx, optdestroy.Refresh(), optdestroy.ErrorProgressStreams(os.Stderr))
	return err
}
