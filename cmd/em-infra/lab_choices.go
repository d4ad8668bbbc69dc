package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// labChoices are what a lab is told when it is made or started, as they were typed; what is "" stays as it is.
type labChoices struct{ timeScale, release, seed string }

func (c *labChoices) bind(command *cobra.Command) {
	command.Flags().StringVar(&c.timeScale, "time-scale", "", "`number` that times of a real host are multiplied by; 0 is no delay (default: as before, at first 0.1)")
	command.Flags().StringVar(&c.release, "pve", "", "Proxmox VE `release` of the emulated host, 8.4 or 9.1 (default: as before, at first 8.4)")
	completeFlag(command, "pve", completeReleases)
	command.Flags().StringVar(&c.seed, "seed", "", "`text` that decides what is left to chance: MAC addresses, UUIDs, faults with a probability (default: as before, at first the stack's name)")
}

// options completes those of a lab.
func (c labChoices) options(o lab.Options) (lab.Options, error) {
	o.Seed = c.seed
	if c.release != "" {
		o.Release = schema.Release(c.release)
		if _, err := schema.Load(o.Release); err != nil {
			return o, fmt.Errorf("--pve: %w", err)
		}
	}
	if c.timeScale == "" {
		return o, nil
	}
	scale, err := strconv.ParseFloat(c.timeScale, 64)
	if err != nil {
		return o, fmt.Errorf("--time-scale: %w, not %s: choose 0 for no delay, 1 for the speed of a small server", pace.ErrScale, c.timeScale)
	}
	o.TimeScale = &scale
	_, err = pace.New(scale)
	if err != nil {
		err = fmt.Errorf("--time-scale: %w", err)
	}
	return o, err
}

// args are the choices for another process.
func (c labChoices) args() []string {
	var args []string
	for _, flag := range [][2]string{{"--time-scale", c.timeScale}, {"--pve", c.release}, {"--seed", c.seed}} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	return args
}

// check refuses what cannot be chosen, or not for this lab any more. What equals the lab that runs is no choice.
func (c labChoices) check(dir string) error {
	chosen, err := c.options(lab.Options{})
	if err != nil {
		return err
	}
	d, err := lab.ReadDescription(dir)
	if errors.Is(err, lab.ErrNoLab) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := d.Bears(schema.Release(c.release)); err != nil {
		return err
	}
	pid, err := lab.Running(dir)
	other := chosen.TimeScale != nil && *chosen.TimeScale != d.TimeScale || chosen.Seed != "" && chosen.Seed != d.Seed
	if err == nil && pid != 0 && other {
		err = fmt.Errorf("the lab runs already (process %d): stop it before you give it another time scale or seed", pid)
	}
	return err
}

// errNoRehearsal says that a choice is for a lab, and none is asked for.
var errNoRehearsal = errors.New("--time-scale, --pve and --seed are those of the emulated host: add --lab to rehearse, or leave them out")

// checkReal refuses choices for a run on the real host.
func (c labChoices) checkReal() error {
	if c != (labChoices{}) {
		return errNoRehearsal
	}
	return nil
}
