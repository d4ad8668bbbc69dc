package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newLabCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "The emulated host that a stack is rehearsed on",
	}
	command.AddCommand(newLabStartCommand(), newLabStopCommand(), newLabStatusCommand(), newLabEnvCommand(), newLabServeCommand())
	return command
}

func newLabStartCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var timeScale float64
	command := &cobra.Command{
		Use:     "start --stack STACK",
		Short:   "Start the lab of a stack; one that was stopped comes back as it was",
		Example: "  em-infra lab start --stack k3s-dev\n  em-infra lab start --stack k3s-dev --time-scale 1   # as slow as a small server",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			scale := ""
			if command.Flags().Changed("time-scale") {
				scale = strconv.FormatFloat(timeScale, 'g', -1, 64)
			}
			return startLab(command.Context(), w, inv, scale, command.OutOrStdout())
		},
	}
	flags.bindPlace(command)
	command.Flags().Float64Var(&timeScale, "time-scale", 0, "times of a real host are multiplied by this; 0 is no delay (default: as before, at first 0.1)")
	return command
}

// startLab starts the lab of a workspace unless it runs already, and says where it is.
func startLab(ctx context.Context, w *workspace.Workspace, inv *inventory.Inventory, timeScale string, out io.Writer) error {
	pid, err := lab.Running(w.Dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		tools, err := labTools(ctx, out)
		if err != nil {
			return err
		}
		if err := w.Prepare(); err != nil {
			return err
		}
		if err := lab.Start(ctx, w.Dir, labProcess(w, tools, timeScale)); err != nil {
			return fmt.Errorf("%w (log: %s)", err, workspace.Nearby(lab.LogFile(w.Dir)))
		}
	} else if timeScale != "" {
		return refused(fmt.Errorf("the lab runs already (process %d): stop it before you give it another time scale", pid))
	}
	d, err := lab.ReadDescription(w.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, " lab        host %s on %s, %d nodes on %s, time scale %g\n", d.Host, d.Proxmox, len(inv.Nodes), d.Network, d.TimeScale)
	return nil
}

// labProcess is this program once more, as the lab.
func labProcess(w *workspace.Workspace, tools kubernetes.Tools, timeScale string) *exec.Cmd {
	args := []string{
		"lab", "serve", "--stack", w.Stack, "--inventory", w.Inventory, "--controlplane", tools.ControlPlane, "--kwok", tools.Kwok,
	}
	if timeScale != "" {
		args = append(args, "--time-scale", timeScale)
	}
	process := exec.Command("/proc/self/exe", args...) //nolint:gosec // this very program, even when `go run` removes its file
	process.Dir = w.Root
	return process
}

func newLabServeCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var timeScale float64
	var tools kubernetes.Tools
	command := &cobra.Command{
		Use:    "serve --stack STACK",
		Short:  "Be the lab, in the foreground",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			if err := w.Prepare(); err != nil {
				return err
			}
			options := lab.Options{Dir: w.Dir, Stack: w.Stack, Inventory: inv, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
			if tools != (kubernetes.Tools{}) {
				options.Kubernetes = &tools
			}
			if command.Flags().Changed("time-scale") {
				options.TimeScale = &timeScale
			}
			return lab.Serve(command.Context(), options)
		},
	}
	flags.bindPlace(command)
	command.Flags().Float64Var(&timeScale, "time-scale", 0, "times of a real host are multiplied by this")
	command.Flags().StringVar(&tools.ControlPlane, "controlplane", "", "executable of the Kubernetes control plane (default: none, and no Kubernetes)")
	command.Flags().StringVar(&tools.Kwok, "kwok", "", "executable of KWOK, with --controlplane")
	command.MarkFlagsRequiredTogether("controlplane", "kwok")
	return command
}

func newLabStopCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:   "stop --stack STACK",
		Short: "Stop the lab of a stack; its state is kept",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			stopped, err := lab.Stop(command.Context(), w.Dir)
			switch {
			case err != nil:
				return err
			case stopped:
				fmt.Fprintf(command.OutOrStdout(), "the lab of %s is stopped; `%s` brings it back as it was\n", w.Stack, typed("lab start --stack %s", w.Stack))
			default:
				fmt.Fprintf(command.OutOrStdout(), "the lab of %s was not running\n", w.Stack)
			}
			return nil
		},
	}
	flags.bindPlace(command)
	return command
}

func newLabStatusCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:   "status --stack STACK",
		Short: "Say whether the lab of a stack runs, and where",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			d, pid, err := labOf(w)
			if err != nil {
				return err
			}
			state := "stopped"
			if pid != 0 {
				state = fmt.Sprintf("running, process %d", pid)
			}
			table := tabwriter.NewWriter(command.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "lab\t%s\nhost\t%s\nproxmox\t%s\nfactory\t%s\nnodes\t%s\ntime scale\t%g\nlog\t%s\n",
				state, d.Host, d.ProxmoxEndpoint(), d.FactoryURL(), d.Network, d.TimeScale, lab.LogFile(w.Dir))
			return table.Flush()
		},
	}
	flags.bindPlace(command)
	return command
}

// labOf reads the description of a workspace's lab and the process that it runs in, 0 for none.
func labOf(w *workspace.Workspace) (lab.Description, int, error) {
	d, err := lab.ReadDescription(w.Dir)
	if errors.Is(err, lab.ErrNoLab) {
		return d, 0, refused(fmt.Errorf("there is no lab of %[1]s yet: start one with `em-infra lab start --stack %[1]s`", w.Stack))
	}
	if err != nil {
		return d, 0, err
	}
	pid, err := lab.Running(w.Dir)
	return d, pid, err
}

// runningLab is labOf for those who need the lab to answer.
func runningLab(w *workspace.Workspace) (lab.Description, error) {
	d, pid, err := labOf(w)
	if err == nil && pid == 0 {
		err = refused(fmt.Errorf("the lab of %[1]s is not running: start it with `em-infra lab start --stack %[1]s`", w.Stack))
	}
	return d, err
}

func newLabEnvCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:     "env --stack STACK",
		Short:   "Print what an ordinary pulumi needs to work on the rehearsal",
		Example: `  eval "$(em-infra lab env --stack k3s-dev)" && pulumi stack --stack k3s-dev`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			w, err := flags.workspace()
			if err != nil {
				return refused(err)
			}
			if _, _, err := labOf(w); err != nil {
				return err
			}
			// The CLI prefers this one to the file, and a shell may know it for another stack.
			fmt.Fprintln(command.OutOrStdout(), "unset PULUMI_CONFIG_PASSPHRASE")
			environment := w.Environment()
			for _, name := range []string{"PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE_FILE"} {
				fmt.Fprintf(command.OutOrStdout(), "export %s=%s\n", name, shellQuote(environment[name]))
			}
			fmt.Fprintf(command.OutOrStdout(), "cd %s\n", shellQuote(w.Dir))
			return nil
		},
	}
	flags.bindPlace(command)
	return command
}

// plainWord needs no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// shellWord is text as one word of a command line, quoted only where it must be.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return shellQuote(text)
}

func shellQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
