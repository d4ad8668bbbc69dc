package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newLabStartCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices labChoices
	command := &cobra.Command{
		Use:   "start --stack STACK",
		Short: "Start the lab of a stack; one that was stopped comes back as it was",
		Long: `Start the lab of a stack. One that was stopped comes back as a host does after a power cut: what was half done stays
half done (a clone leaves a locked VM, see "em-infra lab unlock"), and faults that were asked for are gone.`,
		Example: `  em-infra lab start --stack k3s-dev
  em-infra lab start --stack k3s-dev --time-scale 1   # as slow as a small server
  em-infra lab start --stack k3s-dev --pve 9.1        # a new lab only: the release stays`,
		RunE: func(command *cobra.Command, _ []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			return startLab(command.Context(), w, inv, choices, command.OutOrStdout())
		},
	}
	flags.bindPlace(command)
	choices.bind(command)
	return command
}

// startLab starts the lab of a workspace unless it runs already, and says where it is.
func startLab(ctx context.Context, w *workspace.Workspace, inv *inventory.Inventory, choices labChoices, out io.Writer) error {
	if err := choices.check(w.Dir); err != nil {
		return refused(err)
	}
	pid, err := lab.Running(w.Dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		tools, err := command.Tools(ctx, out)
		if err != nil {
			return err
		}
		if err := w.Prepare(); err != nil {
			return err
		}
		if err := lab.Start(ctx, w.Dir, labProcess(w, tools, choices)); err != nil {
			return fmt.Errorf("%w (log: %s)", err, workspace.Nearby(lab.LogFile(w.Dir)))
		}
	}
	d, err := lab.ReadDescription(w.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, " lab        host %s (PVE %s) on %s, %d nodes on %s, time scale %g\n", d.Host, d.Release, d.Proxmox, len(inv.Nodes), d.Network, d.TimeScale)
	return nil
}

// labProcess is this program once more, as the lab.
func labProcess(w *workspace.Workspace, tools kubernetes.Tools, choices labChoices) *exec.Cmd {
	args := append([]string{
		"lab", "serve", "--stack", w.Stack, "--inventory", w.Inventory, "--controlplane", tools.ControlPlane, "--kwok", tools.Kwok,
	}, choices.Args()...)
	process := exec.Command("/proc/self/exe", args...) //nolint:gosec // this very program, even when `go run` removes its file
	process.Dir = w.Root
	return process
}

func newLabServeCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices labChoices
	var tools kubernetes.Tools
	command := &cobra.Command{
		Use:    "serve --stack STACK",
		Short:  "Be the lab, in the foreground",
		Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			w, inv, err := flags.load()
			if err != nil {
				return refused(err)
			}
			options, err := choices.Options(lab.Options{
				Dir: w.Dir, Stack: w.Stack, Site: lab.SiteOf(inv), Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
				Lifeline: os.Getenv(lab.LifelineVariable),
			})
			if err != nil {
				return refused(err)
			}
			if tools != (kubernetes.Tools{}) {
				options.Kubernetes = &tools
			}
			if err := w.Prepare(); err != nil {
				return err
			}
			return lab.Serve(command.Context(), options)
		},
	}
	flags.bindPlace(command)
	choices.bind(command)
	command.Flags().StringVar(&tools.ControlPlane, "controlplane", "", "executable of the Kubernetes control plane (default: none, and no Kubernetes)")
	command.Flags().StringVar(&tools.Kwok, "kwok", "", "executable of KWOK, with --controlplane")
	command.MarkFlagsRequiredTogether("controlplane", "kwok")
	return command
}
