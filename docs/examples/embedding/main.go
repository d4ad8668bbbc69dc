// Command embedding brings a cluster up and down from a Go program, with everything that the command line em-infra does to make
// that safe.
//
// It needs what em-infra needs: a project folder with Pulumi.yaml and the stack's file, and the passphrase of the stack in the
// environment. The tool chain is downloaded or built where it is not there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func main() {
	name := flag.String("stack", "k3s-dev", "the stack")
	project := flag.String("project", ".", "the folder with Pulumi.yaml")
	inventory := flag.String("inventory", "", "the folder with cluster.yaml and nodes.yaml; default: the one that the stack's configuration names")
	rehearse := flag.Bool("lab", false, "on the emulated host, which `em-infra lab start` has started")
	destroy := flag.Bool("destroy", false, "delete the cluster instead")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	options := operator.Options{
		Stack: *name, Project: *project, Inventory: *inventory,
		Yes:           true, // this program answers for what it does
		Events:        events{},
		ToolsProgress: os.Stderr,
	}
	if tool, err := exec.LookPath("em-infra"); err == nil {
		options.Tool = tool
	}
	if *rehearse {
		options.Lab = lab.Local{Tool: options.Tool}
	}
	os.Exit(exitCode(run(ctx, options, *destroy)))
}

func run(ctx context.Context, options operator.Options, destroy bool) error {
	cluster, err := operator.Open(options)
	if err != nil {
		return err
	}
	if destroy {
		_, err := cluster.Destroy(ctx, operator.DestroyOptions{})
		return err
	}
	return up(ctx, cluster)
}

// up shows first what it will do. The outputs are a struct; two of them are secrets and not for printing.
func up(ctx context.Context, cluster *operator.Operator) error {
	preview, err := cluster.Preview(ctx, operator.PreviewOptions{})
	if err != nil {
		return err
	}
	if err := preview.Err(); err != nil && !errors.Is(err, operator.ErrChanges) {
		return err
	}
	fmt.Println("to do:", preview.Changes)
	result, err := cluster.Up(ctx, operator.UpOptions{})
	if err != nil {
		return err
	}
	fmt.Println(result.Outputs.ClusterName, "is up at", result.Outputs.KubernetesEndpoint)
	return nil
}

// events prints some of what happens.
type events struct{}

// Handle implements [operator.Events].
func (events) Handle(event operator.Event) {
	switch e := event.(type) {
	case operator.Progress:
		fmt.Printf("%s: %s (%.1f s)\n", e.Part, e.What, e.Took.Seconds())
	case operator.Recovered:
		fmt.Println("recovered:", e.What)
	case operator.BackedUp:
		fmt.Println("the state is kept in", e.Backup.Path)
	}
}

// exitCode prints what went wrong: a refusal touched nothing, and a failure has causes, each with what is known about it.
func exitCode(err error) int {
	var (
		refusal *operator.RefusedError
		failure *operator.FailedError
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &refusal):
		fmt.Fprintln(os.Stderr, "refused:", err)
		return 3
	case errors.As(err, &failure):
		for _, cause := range failure.Causes {
			fmt.Fprintln(os.Stderr, cause.Name, cause.Text)
			for _, known := range cause.Explanations {
				fmt.Fprintln(os.Stderr, "  it means:", known.Meaning)
				fmt.Fprintln(os.Stderr, "  do:", known.Do)
			}
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
