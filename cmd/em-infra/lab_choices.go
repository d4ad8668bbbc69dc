package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/command"
)

// labChoices are what a lab is told when it is made or started.
type labChoices struct{ command.Choices }

func (c *labChoices) bind(to *cobra.Command) {
	c.Bind(to, "the stack's name")
	completeFlag(to, "pve", completeReleases)
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

// check refuses what cannot be chosen, or not for the lab of a folder any more.
func (c labChoices) check(dir string) error { return c.Check(dir) }
