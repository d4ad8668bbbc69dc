// Package remedy is about the commands that messages name: a message has them between backquotes, as in "run `em-infra up` again", for
// whoever reads it from wherever. Here they are found, and completed for the place where they will be typed.
package remedy

import (
	"regexp"
	"slices"
	"strings"
)

// tool is how messages call em-infra.
const tool = "em-infra"

// Place is where somebody reads a message and types what it says.
type Place struct {
	// Tool is how em-infra is called there. Default: em-infra.
	Tool string
	// Name of the stack, for commands of pulumi. Default: none, STACK stands for it.
	Name string
	// Stack are the flags that lead a command to the stack, as in --stack k3s-dev --lab. Default: none.
	Stack string
	// Lab are the flags that lead a command of the lab to it, as in --stack k3s-dev. With them, the lab's commands stand for those of a
	// host, which nobody can log in to there. Default: none, it is no rehearsal.
	Lab string
}

// commandForm is a command in a message, with what may follow one that belongs on a host.
var commandForm = regexp.MustCompile("`([^`]+)`( on (?:its host|the host|[a-zA-Z0-9.-]*[a-zA-Z0-9]))?")

// Commands are those that a message names, in its order.
func Commands(message string) []string {
	var commands []string
	for _, found := range commandForm.FindAllStringSubmatch(message, -1) {
		commands = append(commands, found[1])
	}
	return commands
}

// Complete returns the message with its commands as they are typed at the place.
func (p Place) Complete(message string) string {
	return commandForm.ReplaceAllStringFunc(message, func(found string) string {
		parts := commandForm.FindStringSubmatch(found)
		command, onHost := parts[1], parts[2]
		if instead, known := p.inLab(command); known {
			return "`" + p.call(instead) + "`"
		}
		return "`" + p.call(p.onStack(command)) + "`" + onHost
	})
}

// CompleteError is an error with its commands as they are typed at the place. One that names none stays as it is.
func (p Place) CompleteError(err error) error {
	if err == nil {
		return nil
	}
	if text := p.Complete(err.Error()); text != err.Error() {
		return &completedError{text: text, err: err}
	}
	return err
}

// completedError is an error in the words for a place.
type completedError struct {
	text string
	err  error
}

func (e *completedError) Error() string { return e.text }

func (e *completedError) Unwrap() error { return e.err }

// call has the tool called as it is here.
func (p Place) call(command string) string {
	if p.Tool == "" {
		return command
	}
	parts := strings.Split(command, and)
	for i, part := range parts {
		if rest, ours := strings.CutPrefix(part, tool+" "); ours {
			parts[i] = p.Tool + " " + rest
		}
	}
	return strings.Join(parts, and)
}

// stackCommands are the commands of em-infra that work on a stack and that messages name without one.
var stackCommands = []string{
	"up", "destroy", "preview", "drift", "preflight", "status", "role",
	"state list", "state restore", "state unlock", "task list", "task stop UPID",
}

// onStack leads a command to the stack.
func (p Place) onStack(command string) string {
	if p.Name != "" && strings.HasPrefix(command, "pulumi ") {
		return strings.Replace(command, "--stack STACK", "--stack "+p.Name, 1)
	}
	verb, ours := strings.CutPrefix(command, tool+" ")
	if !ours || p.Stack == "" || !slices.Contains(stackCommands, verb) {
		return command
	}
	return command + " " + p.Stack
}

// hostCommands are commands of a Proxmox VE host that have one in their place in a lab; $1 is the VMID.
var hostCommands = []struct {
	host *regexp.Regexp
	lab  string
}{
	{regexp.MustCompile(`^qm unlock (\w+)$`), "lab unlock $1"},
	{regexp.MustCompile(`^qm stop (\w+)$`), "lab stop-vm $1"},
	{regexp.MustCompile(`^qm reset (\w+)$`), "lab reset $1"},
	{regexp.MustCompile(`^qm destroy (\w+) --purge$`), "lab destroy $1"},
}

// and joins two commands of which the second is for when the first succeeds.
const and = " && "

// hostTasks lists what a host works on.
const hostTasks = "pvesh get /nodes/HOST/tasks --source active"

// inLab returns the command that does in a lab what one does on a host.
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
