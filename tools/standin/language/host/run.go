package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/constant"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Run builds the program and runs it, or runs the binary that the project names in runtime.options.binary.
func (h *Host) Run(ctx context.Context, request *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	if h.engine == "" {
		return nil, status.Error(codes.FailedPrecondition, "no engine is known: Handshake comes before Run")
	}
	if request.GetAttachDebugger() {
		return nil, status.Error(codes.Unimplemented, "this stand-in for the language host of Go attaches no debugger")
	}
	environment, err := h.environment(request)
	if err != nil {
		return nil, err
	}
	program, remove, err := h.program(ctx, request.GetInfo())
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(h.canceled, stop)()
	return execute(ctx, program, request.GetPwd(), environment)
}

// program returns the executable, and a function that removes it afterwards.
func (h *Host) program(ctx context.Context, info *pulumirpc.ProgramInfo) (path string, remove func(), err error) {
	options := info.GetOptions().AsMap()
	binary, _ := options["binary"].(string)
	target, _ := options["buildTarget"].(string)
	switch {
	case binary != "" && target != "":
		return "", nil, errors.New("runtime.options has both binary and buildTarget: keep one")
	case binary != "":
		path, err := exec.LookPath(binary)
		return path, func() {}, err
	case target != "":
		return target, func() {}, h.build(ctx, info.GetProgramDirectory(), target)
	}
	folder, err := os.MkdirTemp("", "pulumi-go-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) } // a folder that remains is among temporary files
	path = filepath.Join(folder, "program")
	if err := h.build(ctx, info.GetProgramDirectory(), path); err != nil {
		remove()
		return "", nil, err
	}
	return path, remove, nil
}

// build builds the program with the flags of the official host (compileProgram). So Go reuses what `go install -trimpath` has
// compiled, and does not link an up-to-date target again.
func (h *Host) build(ctx context.Context, dir, target string) error {
	if err := h.say(ctx, "building the program"); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", target, "-trimpath", "-ldflags", "-w -s")
	command.Dir = dir
	command.Stdout, command.Stderr = os.Stdout, os.Stderr // the engine shows them
	if err := command.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w", dir, err)
	}
	return h.say(ctx, "the program is built")
}

// say shows a status message in the engine.
func (h *Host) say(ctx context.Context, text string) error {
	connection, err := grpc.NewClient(h.engine, grpc.WithTransportCredentials(insecure.NewCredentials()), rpcutil.GrpcChannelOptions())
	if err != nil {
		return fmt.Errorf("reach the engine at %s: %w", h.engine, err)
	}
	defer connection.Close()
	_, err = pulumirpc.NewEngineClient(connection).Log(ctx, &pulumirpc.LogRequest{
		Severity: pulumirpc.LogSeverity_INFO, Message: text, Ephemeral: true,
	})
	return err
}

// environment returns the variables from which the SDK reads the run (sdk/go/pulumi/run.go, the constants Env…).
func (h *Host) environment(request *pulumirpc.RunRequest) ([]string, error) {
	config, err := json.Marshal(request.GetConfig())
	if err != nil {
		return nil, err
	}
	secrets := request.GetConfigSecretKeys()
	if secrets == nil {
		secrets = []string{}
	}
	keys, err := json.Marshal(secrets)
	if err != nil {
		return nil, err
	}
	environment := os.Environ()
	for _, variable := range []struct{ name, value string }{
		{"PULUMI_ORGANIZATION", request.GetOrganization()},
		{"PULUMI_PROJECT", request.GetProject()},
		{"PULUMI_ROOT_DIRECTORY", request.GetInfo().GetRootDirectory()},
		{"PULUMI_STACK", request.GetStack()},
		{"PULUMI_CONFIG", string(config)},
		{"PULUMI_CONFIG_SECRET_KEYS", string(keys)},
		{"PULUMI_DRY_RUN", strconv.FormatBool(request.GetDryRun())},
		{"PULUMI_PARALLEL", strconv.Itoa(int(request.GetParallel()))},
		{"PULUMI_MONITOR", request.GetMonitorAddress()},
		{"PULUMI_ENGINE", h.engine},
	} {
		if variable.value != "" {
			environment = append(environment, variable.name+"="+variable.value)
		}
	}
	return environment, nil
}

// grace is the time that an interrupted program has to end by itself.
const grace = 5 * time.Second

// execute runs the program to its end. The response contains the error of the program, or of its start. The error is always nil.
func execute(ctx context.Context, program, dir string, environment []string) (*pulumirpc.RunResponse, error) {
	command := exec.CommandContext(ctx, program)
	command.Dir, command.Env = dir, environment
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = grace
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}, nil
	case !errors.As(err, &exit):
		return &pulumirpc.RunResponse{Error: err.Error()}, nil
	case exit.ExitCode() == constant.ExitStatusLoggedError:
		return &pulumirpc.RunResponse{Bail: true}, nil // the program has already reported the error to the engine
	}
	return &pulumirpc.RunResponse{Error: "the program ended with " + exit.String()}, nil
}
