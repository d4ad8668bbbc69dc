// Package labstack is a stack on a lab of its own, for tests and benchmarks that run em-infra as a person does: the tool, built
// once; the stack's folder, with copies of it; the processes that work for it; and what its lab has logged.
package labstack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Stack is a stack in a checkout, which is rehearsed on a lab.
type Stack struct {
	// Name is what --stack takes.
	Name string
	// Root is the folder of the checkout.
	Root string
	// Inventory is the folder with cluster.yaml and nodes.yaml.
	Inventory string
	// Tool is the em-infra that runs.
	Tool string
	// Env is what its commands have beside the environment of the test.
	Env []string
}

// Dir returns the folder of the stack's lab, with its state and what its runs leave.
func (s Stack) Dir() string { return filepath.Join(s.Root, ".lab", s.Name) }

// On returns the flags that have a command work on the stack.
func (s Stack) On() []string { return []string{"--stack", s.Name, "--inventory", s.Inventory} }

// Command returns a command of em-infra, which is killed with ctx and ends with the process that started it. A command that
// works on the stack has [Stack.On] among its args.
func (s Stack) Command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.Tool, args...)
	// What the tool tells people to run begins with its name, where a shell finds it.
	onPath := "PATH=" + filepath.Dir(s.Tool) + string(filepath.ListSeparator) + os.Getenv("PATH")
	command.Dir, command.Env = s.Root, append(append(os.Environ(), onPath), s.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the engine and the plugins end with it
	return command
}
