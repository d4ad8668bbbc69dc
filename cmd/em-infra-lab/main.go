// Command em-infra-lab is the lab alone: an emulated Proxmox VE host with Talos in its VMs, for tests of other tools. It needs
// no inventory.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/remedy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command and returns the exit code: 1 for a failure, 3 if nothing was changed. The error is printed as one
// sentence on the error stream.
func run(ctx context.Context, out, problems io.Writer, args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(problems)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	// Packages name the lab as a command of em-infra.
	fmt.Fprintln(problems, remedy.Place{LabTool: program}.CompleteError(err))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		return coded.ExitCode()
	}
	return 1
}

// program is the name of this program.
const program = "em-infra-lab"

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   program,
		Short: "An emulated Proxmox VE host with Talos in its VMs, to test tools against",
		Long: `An emulated Proxmox VE host, or a cluster of them, with Talos in its VMs: one process, with its state in one folder. It
needs neither root nor virtualization, and nothing of it is real.`,
		Example: `  em-infra-lab start
  eval "$(em-infra-lab env)"
  curl -k -H "Authorization: PVEAPIToken=$PROXMOX_VE_API_TOKEN" "$PROXMOX_VE_ENDPOINT/api2/json/version"
  em-infra-lab stop`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(
		newServeCommand(),
		newStartCommand(),
		command.Stop(newPlace(), "Stop the lab; its state is kept"),
		command.Status(newPlace(), "Show whether the lab runs, and where"),
		newEnvCommand(),
		command.Machines(newPlace()),
		command.Unlock(newPlace()),
		command.Reset(newPlace()),
		command.SetUp(newPlace()),
		command.StopVM(newPlace()),
		command.Destroy(newPlace()),
		command.Fault(newPlace),
	)
	return root
}
