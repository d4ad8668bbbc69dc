// Package command has the command-line commands for labs. Two programs use it: `em-infra lab` identifies a lab by the stack
// that is rehearsed on it, em-infra-lab by its folder.
package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/control"
)

// Place identifies the lab of a command, and has the program's names for things.
type Place interface {
	// Bind adds the flags that identify the lab to a command that has all its own flags, and their completion.
	Bind(command *cobra.Command)
	// Dir returns the lab's folder.
	Dir() (string, error)
	// VMID returns the number of a VM by its name or number, 0 for "".
	VMID(vm string) (int, error)
	// Lab returns the lab's name in a sentence, such as "the lab of k3s-dev".
	Lab() string
	// Place returns the flags that identify the lab, such as " --stack k3s-dev".
	Place() string
	// Typed returns a command line of the program, with the given words.
	Typed(words string) string
	// Words returns the words of the program's help.
	Words() Words
}

// Words are the program-specific words in the help.
type Words struct {
	// Program is the beginning of each command line: "em-infra lab".
	Program string
	// Usage and Example follow a command's own words, e.g. " --stack STACK" and " --stack k3s-dev".
	Usage, Example string
	// VM is the name of a VM in examples, "" if VMs have numbers only. AboutVM describes how to name one.
	VM, AboutVM string
	// List is the command that lists the VMs.
	List string
}

// example returns a command line.
func (w Words) example(words string) string { return "  " + w.Program + " " + words + w.Example }

// vmExamples returns a command with a VM's number, and with its name if VMs have names.
func (w Words) vmExamples(verb string) string {
	text := w.example(verb + " 102")
	if w.VM != "" {
		text += "\n" + w.example(verb+" "+w.VM)
	}
	return text
}

// next returns a command line for the same lab.
func next(place Place, words string) string { return place.Typed(words) + place.Place() }

// start returns the command line that starts the lab, for use in errors.
func start(place Place) string { return place.Words().Program + " start" + place.Place() }

// refusal is an error of a command that has changed nothing. It ends the program with exit code 3.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func (refusal) ExitCode() int { return 3 }

// Refused marks an error that occurred before any change.
func Refused(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err}
}

// Described returns the description of a lab and its process ID, 0 if it does not run.
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

// Running returns the description of a lab that runs. The error is a refusal if it does not run.
func Running(place Place) (lab.Description, error) {
	d, pid, err := Described(place)
	if err == nil && pid == 0 {
		err = Refused(fmt.Errorf("%s is not running: start it with `%s`", place.Lab(), start(place)))
	}
	return d, err
}

// console returns a client for the console of a running lab.
func console(place Place) (*control.Client, error) {
	if _, err := Running(place); err != nil {
		return nil, err
	}
	dir, err := place.Dir()
	return control.NewClient(dir), Refused(err)
}

// byLab marks an error as a refusal if the lab itself has refused the request, which changes nothing.
func byLab(err error) error {
	if errors.Is(err, control.ErrRefused) {
		return Refused(err)
	}
	return err
}

// OneName returns a check for commands that take exactly one name.
func OneName(what string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return Refused(fmt.Errorf("name one %s, got %d: see `%s --help`", what, len(args), command.CommandPath()))
	}
}
