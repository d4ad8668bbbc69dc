package adoption

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	processes "github.com/em-infra/em-infra/internal/process"
)

// Plugin is a provider plugin on this machine.
type Plugin struct {
	// Name is the name of its package, e.g. proxmoxve.
	Name string
	// Path of its executable.
	Path string
	// Env is its environment. Default: nil, that of this process.
	Env []string
	// Dir is the folder that it runs in. Default: empty, that of this process.
	Dir string
}

// process is a plugin that runs, and the connection to it.
type process struct {
	*grpc.ClientConn

	command *exec.Cmd
}

// start starts a plugin for an engine, whose address it gets as its argument, and reads its port from the first line of its output
// (pulumi sdk/v3 v3.254.0, go/common/resource/plugin/plugin.go, newPlugin).
func (p Plugin) start(engine string) (*process, error) {
	command := exec.Command(p.Path, engine) //nolint:gosec // the plugin that the tool chain has installed
	command.Env, command.Dir = p.Env, p.Dir
	processes.Lead(command) // as the engine starts it
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the plugin %s: %w", p.Name, err)
	}
	started := &process{command: command}
	lines := bufio.NewReader(output)
	line, err := lines.ReadString('\n')
	port, noNumber := strconv.Atoi(strings.TrimSpace(line))
	if err = errors.Join(err, noNumber); err != nil {
		started.end()
		return nil, fmt.Errorf("start the plugin %s: it names no port: %w", p.Name, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // until it ends; a full pipe would stop it
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if started.ClientConn, err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		started.end()
		return nil, fmt.Errorf("start the plugin %s: %w", p.Name, err)
	}
	return started, nil
}

// end ends the plugin and waits for it. A plugin has nothing to save: the engine does the same.
func (p *process) end() {
	if p.ClientConn != nil {
		_ = p.Close() // it may be closed
	}
	_ = p.command.Process.Kill() // it may have ended
	_ = p.command.Wait()         // its end is the kill
}
