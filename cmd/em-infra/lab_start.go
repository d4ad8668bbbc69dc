package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	emulator "github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/lab"
)

func newLabStartCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices lab.Choices
	command := &cobra.Command{
		Use:   "start --stack STACK",
		Short: "Start the lab of a stack; one that was stopped comes back as it was",
		Long: `Start the lab of a stack. One that was stopped comes back as a host does after a power cut: what was half done stays
half done (a clone leaves a locked VM, see "em-infra lab unlock"), and faults that were asked for are gone.`,
		Example: `  em-infra lab start --stack k3s-dev
  em-infra lab start --stack k3s-dev --time-scale 1   # as slow as a small server
  em-infra lab start --stack k3s-dev --pve 9.1        # a new lab only: the release stays`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			o, err := flags.openChosen(streams, choices)
			if err != nil {
				return err
			}
			return o.StartLab(command.Context())
		},
	}
	flags.bindPlace(command)
	bindChoices(command, &choices)
	return command
}

// printLab prints where a lab is.
func printLab(out io.Writer, host operator.LabHost, nodes int) {
	fmt.Fprintf(out, " lab        host %s (PVE %s) on %s, %d nodes on %s, time scale %g\n", host.Name, host.Release, host.Address, nodes, host.Network, host.TimeScale)
}

// bindChoices adds the flags of a lab that is created or started.
func bindChoices(command *cobra.Command, choices *lab.Choices) {
	choices.Bind(command, "the stack's name")
	completeFlag(command, "pve", completeReleases)
}

func newLabServeCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	var choices lab.Choices
	var tools command.ToolFlags
	command := &cobra.Command{
		Use:    "serve --stack STACK",
		Short:  "Be the lab, in the foreground",
		Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			w, site, err := flags.site()
			if err != nil {
				return refused(err)
			}
			options, err := choices.Options(emulator.Options{
				Dir: w.Dir, Stack: w.Stack, Site: site, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
				Lifeline: os.Getenv(emulator.LifelineVariable), Registry: emulator.DefaultRegistry(),
			})
			if err != nil {
				return refused(err)
			}
			if options.Kubernetes, err = tools.Tools(); err != nil {
				return refused(err)
			}
			if err := w.Prepare(); err != nil {
				return err
			}
			return emulator.Serve(command.Context(), options)
		},
	}
	flags.bindPlace(command)
	bindChoices(command, &choices)
	tools.Bind(command)
	return command
}

// site returns the workspace of a stack of any kind, and what its lab emulates.
func (f *stackFlags) site() (*workspace.Workspace, emulator.Site, error) {
	o, err := f.open(streams{})
	if err != nil {
		return nil, emulator.Site{}, err
	}
	w := o.Workspace()
	kind, err := manifest.KindOf(w.Inventory)
	if err != nil {
		return nil, emulator.Site{}, err
	}
	switch kind {
	case manifest.Hosts:
		inv, err := hosts.Load(w.Inventory)
		if err != nil {
			return nil, emulator.Site{}, err
		}
		return &w, emulator.SiteOfHosts(inv), nil
	case manifest.Systems:
		inv, err := systems.Load(w.Inventory)
		if err != nil {
			return nil, emulator.Site{}, err
		}
		return &w, emulator.SiteOfSystems(inv), nil
	}
	inv, err := o.Inventory()
	if err != nil {
		return nil, emulator.Site{}, err
	}
	return &w, emulator.SiteOf(inv), nil
}
