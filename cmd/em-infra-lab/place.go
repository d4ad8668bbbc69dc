package main

import (
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab/command"
	"github.com/em-infra/em-infra/internal/shell"
)

// usualDir is the folder of a lab unless another one is named.
const usualDir = ".em-infra-lab"

// place finds a lab by its folder.
type place struct{ dir string }

var _ command.Place = (*place)(nil)

func newPlace() command.Place { return &place{} }

// Bind implements [command.Place].
func (p *place) Bind(c *cobra.Command) {
	c.Flags().StringVar(&p.dir, "dir", usualDir, "the `folder` that the lab keeps its state in")
	if err := c.MarkFlagDirname("dir"); err != nil {
		panic(err) // the flag was added in the line before
	}
	if c.Args == nil {
		c.Args = cobra.NoArgs
	}
}

// Dir implements [command.Place].
func (p *place) Dir() (string, error) { return filepath.Abs(p.dir) }

// VMID implements [command.Place]: without an inventory, VMs are named by their numbers.
func (p *place) VMID(vm string) (int, error) {
	if vm == "" {
		return 0, nil
	}
	vmid, err := strconv.Atoi(vm)
	if err != nil || vmid <= 0 {
		return 0, fmt.Errorf("%q is no VMID: `%s machines` lists them", vm, program)
	}
	return vmid, nil
}

// Lab implements [command.Place].
func (p *place) Lab() string { return "the lab in " + p.dir }

// Place implements [command.Place].
func (p *place) Place() string {
	if p.dir == usualDir {
		return ""
	}
	return " --dir " + shell.Word(p.dir)
}

// Typed implements [command.Place].
func (p *place) Typed(words string) string { return program + " " + words }

// Words implements [command.Place].
func (p *place) Words() command.Words {
	return command.Words{
		Program: program, AboutVM: "only for the VM of this `number`", List: program + " machines",
	}
}
