// Package command has what can be said to a lab on a command line, for the programs that have such commands: `em-infra lab`
// knows a lab by the stack that is rehearsed on it, em-infra-lab by its folder.
package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
)

// Place is which lab a command is about, and what the program calls things.
type Place interface {
	// Bind adds the flags that say which lab it is to a command that has all of its own, and completes their values.
	Bind(command *cobra.Command)
	// Dir is the lab's folder.
	Dir() (string, error)
	// VMID is the number of a VM by what somebody calls it, 0 for "".
	VMID(vm string) (int, error)
	// Lab is what the lab is called in a sentence, such as "the lab of k3s-dev".
	Lab() string
	// Place is what says which lab it is, such as " --stack k3s-dev".
	Place() string
	// Typed is what its user types to call the program, with words of a command.
	Typed(words string) string
	// Words are those of the program's help.
	Words() Words
}

// Words are how a program speaks of its labs.
type Words struct {
	// Program begins each of its commands: "em-infra lab".
	Program string
	// Usage and Example follow a command's own words, as in " --stack STACK" and " --stack k3s-dev".
	Usage, Example string
	// VM is the name of a VM in examples, "" where VMs have numbers only; AboutVM says how one is named.
	VM, AboutVM string
	// List is a command that lists the VMs.
	List string
}

// example is a command line.
func (w Words) example(words string) string { return "  " + w.Program + " " + words + w.Example }

// vmExamples are a command with a VM's number, and with a name where the program knows any.
func (w Words) vmExamples(verb string) string {
	text := w.example(verb + " 102")
	if w.VM != "" {
		text += "\n" + w.example(verb+" "+w.VM)
	}
	return text
}

// next is a command for the same lab, as its user types it.
func next(place Place, words string) string { return place.Typed(words) + place.Place() }

// start is the command that starts the lab, as it stands in an error.
func start(place Place) string { return place.Words().Program + " start" + place.Place() }

// refusal is an error of a command that has touched nothing. It ends the program with code 3, as all of them do.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// ExitCode is the program's exit code.
func (refusal) ExitCode() int { return 3 }

// Refused marks an error as one that came before anything was touched.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err}
}

// Described reads the description of a lab and the process that it runs in, 0 for none.
func Described(place Place) (lab.Description, int, error) {
	dir, err := place.Dir()
	if err != nil {
		return lab.Description{}, 0, Refused(err)
	}
	d, err := lab.ReadDescription(dir)
	if errors.Is(err, lab.ErrNoLab) {
		return d, 0, Refused(fmt.Errorf("there is no %s yet: start one with `%s`", strings.TrimPrefix(place.Lab(), "the "), start(place)))
	}
	if err != nil {
		return d, 0, err
	}
	pid, err := lab.Running(dir)
	return d, pid, err
}

// Running is Described for those who need the lab to answer.
func Running(place Place) (lab.Description, error) {
	d, pid, err := Described(place)
	if err == nil && pid == 0 {
		err = Refused(fmt.Errorf("%s is not running: start it with `%s`", place.Lab(), start(place)))
	}
	return d, err
}

// console is the way into the lab while it runs.
func console(place Place) (*control.Client, error) {
	if _, err := Running(place); err != nil {
		return nil, err
	}
	dir, err := place.Dir()
	return control.NewClient(dir), Refused(err)
}

// byLab is a failed request to a lab: what the lab itself refuses changes nothing.
func byLab(err error) error {
	if errors.Is(err, control.ErrRefused) {
		return Refused(err)
	}
	return err
}

// OneName has a command that takes a name say so in its own words.
func OneName(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return Refused(fmt.Errorf("name one %s, got %d: see `%s --help`", what, len(args), command.CommandPath()))
	}
}
