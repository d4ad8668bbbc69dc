package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newLabCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "lab",
		Short: "The emulated host that a stack is rehearsed on",
	}
	command.AddCommand(
		newLabStartCommand(), newLabStopCommand(), newLabStatusCommand(), newLabEnvCommand(), newLabFaultCommand(),
		newLabUnlockCommand(), newLabResetCommand(), newLabDestroyCommand(), newLabServeCommand(),
	)
	return command
}

func newLabStopCommand() *cobra.Command {
	flags := stackFlags{lab: true}
	command := &cobra.Command{
		Use:     "stop --stack STACK",
		Short:   "Stop the lab of a stack; its state is kept",
		Example: "  em-infra lab stop --stack k3s-dev",
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
		Short:   "Print what a shell needs to run pulumi itself on the rehearsal, whose stack is made if it is not there",
		Example: `  eval "$(em-infra lab env --stack k3s-dev)" && pulumi preview --stack k3s-dev`,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			s, err := openSession(command.Context(), flags, want{newStack: true}, streams.aside())
			if err != nil {
				return err
			}
			tools, err := toolchain.Install(command.Context(), toolchain.Options{Progress: streams.err, LanguageHost: true})
			if err != nil {
				return err
			}
			if err := tools.Populate(s.workspace.Home); err != nil {
				return err
			}
			return printLabEnv(terminal.Raw(streams.out), tools, s.workspace, ownPath())
		},
	}
	flags.bindPlace(command)
	return command
}

// printLabEnv leads a shell into the folder of the rehearsal.
func printLabEnv(out io.Writer, tools *toolchain.Installed, w *workspace.Workspace, own string) error {
	// The CLI prefers this one to the file, and a shell may know it for another stack.
	fmt.Fprintln(out, "unset PULUMI_CONFIG_PASSPHRASE")
	if err := printToolsEnv(out, tools, w, own); err != nil {
		return err
	}
	fmt.Fprintf(out, "cd %s\n", shellWord(w.Dir))
	return nil
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
