// Package labstack runs a stack on a lab of its own, for tests and benchmarks that use em-infra as a user does: it builds the
// tool once, copies the stack's folder, finds the stack's processes, and reads its lab's logs.
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
	// Name is the argument of --stack.
	Name string
	// Root is the folder of the checkout.
	Root string
	// Inventory is the folder with cluster.yaml and nodes.yaml.
	Inventory string
	// Tool is the path of em-infra.
	Tool string
	// Env are additional environment variables of its commands.
	Env []string
}

// Dir returns the folder of the stack's lab, with its state and what its runs leave.
func (s Stack) Dir() string { return filepath.Join(s.Root, ".lab", s.Name) }

// On returns the flags that select the stack.
func (s Stack) On() []string { return []string{"--stack", s.Name, "--inventory", s.Inventory} }

// Command returns a command of em-infra, which is killed with ctx and ends with the process that started it. A command that
// works on the stack has [Stack.On] among its args.
func (s Stack) Command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.Tool, args...)
	// The commands in the tool's messages begin with its name, which a shell finds on PATH.
	onPath := "PATH=" + filepath.Dir(s.Tool) + string(filepath.ListSeparator) + os.Getenv("PATH")
	command.Dir, command.Env = s.Root, append(append(os.Environ(), onPath), s.Env...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // the engine and the plugins end with it
	return command
}
