// Package lab implements [operator.Lab] with the emulated hosts of this repository.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"

	emulator "github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// Local runs labs as processes on this machine, each in the folder of its rehearsal.
type Local struct {
	// Tool is the executable of em-infra; `em-infra lab serve` is the lab. Default: "", then Start refuses if the lab is not running.
	Tool string
	// Choices are the choices for a lab that is created or started. Default: as before.
	Choices Choices
	// Progress receives the output while the tools of a lab are downloaded or built. Default: none.
	Progress io.Writer
}

var _ operator.Lab = Local{}

// Choices are the choices for a lab, in the form of the flags of `em-infra lab start`. An empty choice keeps the present value.
type Choices = command.Choices

// Check implements [operator.Lab].
func (l Local) Check(site operator.Site) error {
	if err := emulator.CheckSystem(runtime.GOOS); err != nil {
		return err
	}
	return l.Choices.Check(site.Dir)
}

// CheckShared implements [operator.Lab].
func (Local) CheckShared(inventories []string) error {
	stacks, err := emulator.LoadStacks(inventories...)
	if err != nil {
		return err
	}
	site, err := emulator.SiteOf(stacks)
	if err != nil {
		return err
	}
	return site.Check()
}

// Start implements [operator.Lab].
func (l Local) Start(ctx context.Context, site operator.Site) (operator.LabHost, error) {
	if err := l.Check(site); err != nil {
		return operator.LabHost{}, &operator.RefusedError{Err: err}
	}
	if l.Tool == "" {
		return l.Running(site)
	}
	pid, err := emulator.Running(site.Dir)
	if err != nil {
		return operator.LabHost{}, err
	}
	if pid == 0 {
		progress := l.Progress
		if progress == nil {
			progress = io.Discard
		}
		tools, err := command.Tools(ctx, progress)
		if err != nil {
			return operator.LabHost{}, err
		}
		err = emulator.Start(ctx, site.Dir, l.process(site, tools))
		if pid, running := emulator.Running(site.Dir); err != nil && running == nil && pid != 0 {
			err = nil // a run of another stack that shares the lab was faster
		}
		if err != nil {
			return operator.LabHost{}, fmt.Errorf("%w (log: %s)", err, workspace.Nearby(emulator.LogFile(site.Dir)))
		}
	}
	return l.Running(site)
}

// process returns the command of the lab.
func (l Local) process(site operator.Site, tools kubernetes.Tools) *exec.Cmd {
	which := []string{"--stack", site.Stack, "--inventory", site.Inventory}
	if site.Shared != "" {
		which = []string{"--shared", site.Shared}
	}
	args := slices.Concat([]string{"lab", "serve"}, which, command.ToolArgs(tools), l.Choices.Args())
	process := exec.Command(l.Tool, args...) //nolint:gosec // the em-infra that the caller has named
	process.Dir = site.Root
	return process
}

// Running implements [operator.Lab].
func (l Local) Running(site operator.Site) (operator.LabHost, error) {
	host, found, err := l.Find(site)
	if err != nil {
		return host, err
	}
	if !found {
		return host, &operator.RefusedError{Err: fmt.Errorf("there is no lab of %[1]s yet: start one with `em-infra lab start --stack %[1]s`", site.Stack)}
	}
	pid, err := emulator.Running(site.Dir)
	if err == nil && pid == 0 {
		err = &operator.RefusedError{Err: fmt.Errorf("the lab of %[1]s is not running: start it with `em-infra lab start --stack %[1]s`", site.Stack)}
	}
	return host, err
}

// Find implements [operator.Lab].
func (Local) Find(site operator.Site) (host operator.LabHost, found bool, err error) {
	d, err := emulator.ReadDescription(site.Dir)
	if errors.Is(err, emulator.ErrNoLab) {
		return host, false, nil
	}
	fingerprint := ""
	if err == nil && d.NAS.IsValid() {
		fingerprint, err = emulator.NASFingerprint(site.Dir, d)
	}
	return operator.LabHost{
		StorageEndpoint: d.NASEndpoint(), StorageFingerprint: fingerprint, StorageKey: d.NASKey,
		Name: d.Host, Release: string(d.Release), Address: d.Proxmox, Endpoint: d.ProxmoxEndpoint(), Token: d.Token,
		FactoryURL: d.FactoryURL(), Networks: d.Networks(), NetworkOf: d.NetworkOf, TimeScale: d.TimeScale,
	}, err == nil, err
}

// Stop implements [operator.Lab].
func (Local) Stop(ctx context.Context, site operator.Site) error {
	_, err := emulator.Stop(ctx, site.Dir)
	return err
}

// Writes implements [operator.Lab].
func (Local) Writes(site operator.Site) ([]string, error) {
	return writesIn(emulator.HostCalls(site.Dir))
}
