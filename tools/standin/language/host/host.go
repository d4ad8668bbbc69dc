// Package host is a stand-in for Pulumi's language host of Go: the LanguageRuntime service (pulumi proto/pulumi/language.proto) for
// projects with `runtime: go`, as far as a plain `pulumi` needs it to run the program of a project. Its behaviour is that of
// sdk/go/pulumi-language-go of pulumi v3.254.0, as read in the sources. That host is not published as a Go module.
//
// It is test equipment. It runs programs, but no plugins and no code generators.
package host

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Host is the service. The methods that it does not implement return Unimplemented.
type Host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
	version  string
	engine   string // address of the engine; empty until Handshake if a person started the process
	canceled context.Context
	cancel   context.CancelFunc
}

// New returns the service for the engine at an address. The address is empty if Handshake will give it.
func New(engine, version string) *Host {
	canceled, cancel := context.WithCancel(context.Background())
	return &Host{version: version, engine: engine, canceled: canceled, cancel: cancel}
}

// heartbeat is the interval at which the host checks that the engine still runs.
const heartbeat = 5 * time.Minute

// Serve serves until ctx ends or the engine is gone. It calls ready with the port once it listens.
func (h *Host) Serve(ctx context.Context, ready func(port int)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if h.engine != "" {
		if err := rpcutil.Healthcheck(ctx, h.engine, heartbeat, stop); err != nil {
			return fmt.Errorf("watch the engine at %s: %w", h.engine, err)
		}
	}
	ended := make(chan bool)
	context.AfterFunc(ctx, func() { close(ended) })
	server, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: ended,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterLanguageRuntimeServer(server, h)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("serve the language host: %w", err)
	}
	ready(server.Port)
	return <-server.Done
}

// Handshake gives the engine's address to a process that a person started.
func (h *Host) Handshake(_ context.Context, request *pulumirpc.LanguageHandshakeRequest) (*pulumirpc.LanguageHandshakeResponse, error) {
	if request.GetEngineAddress() == "" {
		return nil, status.Error(codes.InvalidArgument, "the handshake names no engine")
	}
	h.engine = request.GetEngineAddress()
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo returns the version.
func (h *Host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: h.version}, nil
}

// About returns the path and the version of the Go that compiles the programs.
func (h *Host) About(ctx context.Context, request *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return nil, errNoGo
	}
	version, err := goOutput(ctx, request.GetInfo().GetProgramDirectory(), "version")
	if err != nil {
		return nil, err
	}
	return &pulumirpc.AboutResponse{Executable: path, Version: strings.TrimSpace(version)}, nil
}

// Cancel interrupts the program.
func (h *Host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	h.cancel()
	return &emptypb.Empty{}, nil
}

var errNoGo = errors.New("go is not on PATH: install Go 1.26 or later (https://go.dev/dl)")

// goOutput runs the go command in a folder, outside of any workspace, and returns its output.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(command.Environ(), "GOWORK=off")
	output, err := command.Output()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errNoGo
	case errors.As(err, &exit):
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(output), err
}
