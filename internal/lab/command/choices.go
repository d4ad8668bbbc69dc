package command

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Choices are the flags for making or starting a lab, as typed. An empty one keeps the current value.
type Choices struct{ TimeScale, Release, Seed string }

// Bind adds the flags. ownSeed describes the default seed in the help.
func (c *Choices) Bind(command *cobra.Command, ownSeed string) {
	command.Flags().StringVar(&c.TimeScale, "time-scale", "", "`number` that times of a real host are multiplied by; 0 is no delay (default: as before, at first 0.1)")
	command.Flags().StringVar(&c.Release, "pve", "", "Proxmox VE `release` of the emulated host, 8.4 or 9.1 (default: as before, at first 8.4)")
	command.Flags().StringVar(&c.Seed, "seed", "", "`text` that decides what is left to chance: MAC addresses, UUIDs, faults with a probability (default: as before, at first "+ownSeed+")")
}

// Options adds the choices to the options of a lab.
func (c Choices) Options(o lab.Options) (lab.Options, error) {
	o.Seed = c.Seed
	if c.Release != "" {
		o.Release = schema.Release(c.Release)
		if _, err := schema.Load(o.Release); err != nil {
			return o, fmt.Errorf("--pve: %w", err)
		}
	}
	if c.TimeScale == "" {
		return o, nil
	}
	scale, err := strconv.ParseFloat(c.TimeScale, 64)
	if err != nil {
		return o, fmt.Errorf("--time-scale: %w, not %s: choose 0 for no delay, 1 for the speed of a small server", pace.ErrScale, c.TimeScale)
	}
	o.TimeScale = &scale
	_, err = pace.New(scale)
	if err != nil {
		err = fmt.Errorf("--time-scale: %w", err)
	}
	return o, err
}

// Args returns the choices as arguments for another process.
func (c Choices) Args() []string {
	var args []string
	for _, flag := range [][2]string{{"--time-scale", c.TimeScale}, {"--pve", c.Release}, {"--seed", c.Seed}} {
		if flag[1] != "" {
			args = append(args, flag[0], flag[1])
		}
	}
	return args
}

// Check returns an error for an invalid choice, or for one that cannot change for an existing lab. A choice that equals the
// lab's value is valid.
func (c Choices) Check(dir string) error {
	chosen, err := c.Options(lab.Options{})
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
	if err := d.Bears(schema.Release(c.Release)); err != nil {
		return err
	}
	pid, err := lab.Running(dir)
	other := chosen.TimeScale != nil && *chosen.TimeScale != d.TimeScale || chosen.Seed != "" && chosen.Seed != d.Seed
	if err == nil && pid != 0 && other {
		err = fmt.Errorf("the lab runs already (process %d): stop it before you give it another time scale or seed", pid)
	}
	return err
}
