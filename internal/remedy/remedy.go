// Package remedy handles the commands in messages, which are in backquotes, as in "run `em-infra up` again". It finds them, and
// completes them for the place where the user types them.
package remedy

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/shell"
)

// tool is the name of em-infra in messages.
const tool = "em-infra"

// Place is where a user reads a message and types its commands.
type Place struct {
	// Tool is the command for em-infra there. Default: em-infra.
	Tool string
	// LabTool is the command for `em-infra lab` there. Default: that of em-infra, with lab.
	LabTool string
	// Name of the stack, for commands of pulumi. Default: empty, written as STACK.
	Name string
	// Stack are the flags that select the stack, as in --stack k3s-dev --lab. Default: none.
	Stack string
	// Up are flags that `em-infra up` needs besides, as in --allow-replace k3s-dev-control-1. Default: none.
	Up string
	// Again is the command of em-infra, without its name, that is run instead of the up in "run up again", as in reboot k3s-dev-worker-1.
	// Default: none, it is up.
	Again string
	// Lab are the flags that select the lab, as in --stack k3s-dev. With them, commands of the lab replace those on a host, which
	// has no login there. Default: none, no rehearsal.
	Lab string
}

// On returns the place of a user who works on a stack, with the folder of its inventory if that is not the stack's own, in a lab or not.
func On(stack, inventory string, rehearsed bool) Place {
	place := Place{Name: stack, Stack: "--stack " + stack}
	if inventory != "" {
		place.Stack += " --inventory " + shell.Word(inventory)
	}
	if rehearsed {
		place.Lab = place.Stack
		place.Stack += " --lab"
	}
	return place
}

// After returns the place of a user whose command, without em-infra's name, has failed and is run again.
func (p Place) After(command string) Place {
	p.Again = command
	return p
}

// commandForm matches a command in a message, with the words that may follow a command on a host.
var commandForm = regexp.MustCompile("`([^`]+)`( on (?:its host|the host|[a-zA-Z0-9.-]*[a-zA-Z0-9]))?")

// Commands returns the commands in a message, in its order.
func Commands(message string) []string {
	var commands []string
	for _, found := range commandForm.FindAllStringSubmatch(message, -1) {
		commands = append(commands, found[1])
	}
	return commands
}

// Complete returns the message with its commands completed for the place.
func (p Place) Complete(message string) string {
	if p.Again != "" {
		message = strings.ReplaceAll(message, "run up again", "run `"+tool+" "+p.Again+"` again")
	}
	return commandForm.ReplaceAllStringFunc(message, func(found string) string {
		parts := commandForm.FindStringSubmatch(found)
		command, onHost := parts[1], parts[2]
		if instead, known := p.inLab(command); known {
			return "`" + p.call(instead) + "`"
		}
		return "`" + p.call(p.onStack(command)) + "`" + onHost
	})
}

// CompleteError returns an error with its commands completed for the place. An error without commands is returned unchanged.
func (p Place) CompleteError(err error) error {
	if err == nil {
		return nil
	}
	if text := p.Complete(err.Error()); text != err.Error() {
		return &completedError{text: text, place: p, err: err}
	}
	return err
}

// completedError is an error with its message completed for a place.
type completedError struct {
	text  string
	place Place
	err   error
}

func (e *completedError) Error() string { return e.text }

// Remedy returns what to do.
func (e *completedError) Remedy() string {
	_, do := Split(e.err)
	return e.place.Complete(do)
}

func (e *completedError) Unwrap() error { return e.err }

// call replaces em-infra by the command for it at the place.
func (p Place) call(command string) string {
	parts := strings.Split(command, and)
	for i, part := range parts {
		rest, ours := strings.CutPrefix(part, tool+" ")
		inLab, ofLab := strings.CutPrefix(rest, "lab ")
		switch {
		case ours && ofLab && p.LabTool != "":
			parts[i] = p.LabTool + " " + inLab
		case ours && p.Tool != "":
			parts[i] = p.Tool + " " + rest
		}
	}
	return strings.Join(parts, and)
}

// stackCommands are the commands of em-infra that need a stack and that messages name without one, like `reboot NODE`.
var stackCommands = []string{
	"up", "destroy", "preview", "drift", "preflight", "status", "role", "outputs",
	"state backup", "state list", "state restore", "state unlock", "adopt", "etcd list", "etcd snapshot", "etcd restore", "etcd defragment", "etcd disarm",
	"kit create", "task list", "task stop UPID", "rotate passphrase", "rotate proxmox-token",
	"rotate talos-ca", "rotate kubernetes-ca", "rotate encryption-key", "rotate service-account-key", "rotate join-tokens",
}

// fileCommands are those that change the files of a stack, which a rehearsal reads too: they do not know the flag of the lab.
var fileCommands = []string{"secrets init", "secrets edit"}

// onStack adds the flags of the stack to a command.
func (p Place) onStack(command string) string {
	if p.Name != "" && strings.HasPrefix(command, "pulumi ") {
		return strings.Replace(command, "--stack STACK", "--stack "+p.Name, 1)
	}
	verb, ours := strings.CutPrefix(command, tool+" ")
	if ours && slices.Contains(fileCommands, verb) {
		return strings.TrimSuffix(command+" "+cmp.Or(p.Lab, p.Stack), " ")
	}
	if !ours || p.Stack == "" || !needsStack(verb) {
		return command
	}
	command += " " + p.Stack
	if verb == "up" && p.Up != "" {
		command += " " + p.Up
	}
	return command
}

// flaggedCommands are the stackCommands that messages name with flags of their own, like `etcd restore --from NAME`.
var flaggedCommands = []string{"up", "state unlock", "etcd restore"}

// needsStack reports whether a command needs the flags of the stack, and has none yet.
func needsStack(verb string) bool {
	words, flags, _ := strings.Cut(verb, " --")
	switch {
	case flags == "":
		return slices.Contains(stackCommands, verb) || strings.HasPrefix(verb, "reboot ") || strings.HasPrefix(verb, "node rollback ")
	case flags == "help" || strings.Contains(verb, "--stack") || strings.Contains(verb, "--lab"):
		return false
	default:
		return slices.Contains(flaggedCommands, words)
	}
}

// hostCommands are commands of a Proxmox VE host with their replacements in a lab; $1 is the VMID.
var hostCommands = []struct {
	host *regexp.Regexp
	lab  string
}{
	{regexp.MustCompile(`^qm unlock (\w+)$`), "lab unlock $1"},
	{regexp.MustCompile(`^qm stop (\w+)$`), "lab stop-vm $1"},
	{regexp.MustCompile(`^qm reset (\w+)$`), "lab reset $1"},
	{regexp.MustCompile(`^qm destroy (\w+) --purge$`), "lab destroy $1"},
}

// and joins two commands; the second runs if the first succeeds.
const and = " && "

// hostTasks lists the running tasks of a host.
const hostTasks = "pvesh get /nodes/HOST/tasks --source active"

// inLab returns the lab's replacement of a command on a host.
func (p Place) inLab(command string) (instead string, known bool) {
	if p.Lab == "" {
		return "", false
	}
	if command == hostTasks {
		return p.onStack(tool + " task list"), true
	}
	if first, second, two := strings.Cut(command, and); two {
		first, knownFirst := p.inLab(first)
		second, knownSecond := p.inLab(second)
		return first + and + second, knownFirst && knownSecond
	}
	for _, one := range hostCommands {
		if one.host.MatchString(command) {
			return tool + " " + one.host.ReplaceAllString(command, one.lab) + " " + p.Lab, true
		}
	}
	return "", false
}
