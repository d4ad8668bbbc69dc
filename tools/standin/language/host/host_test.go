package host_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/tools/standin/language/host"
)

// engine keeps the messages that it gets.
type engine struct {
	pulumirpc.UnimplementedEngineServer
	mu       sync.Mutex
	messages []string
}

func (e *engine) Log(_ context.Context, request *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = append(e.messages, request.GetMessage())
	return &emptypb.Empty{}, nil
}

func startEngine(t *testing.T) (*engine, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, e := grpc.NewServer(), &engine{}
	pulumirpc.RegisterEngineServer(server, e)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return e, listener.Addr().String()
}

// client serves a host for an engine as the plugin does, and returns the engine's client of it.
func client(t *testing.T, engine string) pulumirpc.LanguageRuntimeClient {
	t.Helper()
	ports, ended := make(chan int, 1), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { ended <- host.New(engine, "v3.254.0").Serve(ctx, func(port int) { ports <- port }) }()
	var port int
	select {
	case port = <-ports:
	case err := <-ended:
		t.Fatal(err)
	}
	connection, err := grpc.NewClient((&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}).String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, connection.Close())
		stop()
		require.NoError(t, <-ended)
	})
	return pulumirpc.NewLanguageRuntimeClient(connection)
}

// program writes a Go module and returns the engine's description of it.
func program(t *testing.T, files map[string]string) *pulumirpc.ProgramInfo {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return &pulumirpc.ProgramInfo{RootDirectory: dir, ProgramDirectory: dir, EntryPoint: "."}
}

const goMod = "module example.org/program\n\ngo 1.26.0\n"

// writing is a program that writes the environment of its run into its folder. It ends with the exit code that the configuration
// asks for.
const writing = `package main

import (
	"os"
	"strings"
)

func main() {
	var text strings.Builder
	for _, name := range []string{"ORGANIZATION", "PROJECT", "ROOT_DIRECTORY", "STACK", "CONFIG", "CONFIG_SECRET_KEYS", "DRY_RUN", "PARALLEL", "MONITOR", "ENGINE"} {
		text.WriteString(name + "=" + os.Getenv("PULUMI_"+name) + "\n")
	}
	if err := os.WriteFile("run", []byte(text.String()), 0o600); err != nil {
		panic(err)
	}
	switch {
	case strings.Contains(os.Getenv("PULUMI_CONFIG"), "logged"):
		os.Exit(32)
	case strings.Contains(os.Getenv("PULUMI_CONFIG"), "fails"):
		os.Exit(3)
	}
}
`

func TestRun(t *testing.T) {
	t.Parallel()
	engine, address := startEngine(t)
	runtime := client(t, address)
	info := program(t, map[string]string{"go.mod": goMod, "main.go": writing})
	run := func(config map[string]string, secrets ...string) (*pulumirpc.RunResponse, error) {
		return runtime.Run(t.Context(), &pulumirpc.RunRequest{
			Organization: "organization", Project: "em-infra", Stack: "k3s-dev", Pwd: info.GetProgramDirectory(), Info: info,
			Config: config, ConfigSecretKeys: secrets, DryRun: true, Parallel: 4, MonitorAddress: "127.0.0.1:1",
		})
	}
	response, err := run(map[string]string{"em-infra:inventory": "stacks/k3s-dev"}, "em-infra:proxmoxToken")
	require.NoError(t, err)
	require.Empty(t, response.GetError())
	require.False(t, response.GetBail())
	text, err := os.ReadFile(filepath.Join(info.GetProgramDirectory(), "run"))
	require.NoError(t, err)
	require.Equal(t, "ORGANIZATION=organization\nPROJECT=em-infra\nROOT_DIRECTORY="+info.GetRootDirectory()+"\nSTACK=k3s-dev\n"+
		`CONFIG={"em-infra:inventory":"stacks/k3s-dev"}`+"\n"+`CONFIG_SECRET_KEYS=["em-infra:proxmoxToken"]`+
		"\nDRY_RUN=true\nPARALLEL=4\nMONITOR=127.0.0.1:1\nENGINE="+address+"\n", string(text))
	require.Equal(t, []string{"building the program", "the program is built"}, engine.messages)

	response, err = run(map[string]string{"end": "logged"})
	require.NoError(t, err)
	require.True(t, response.GetBail(), "the program has already reported the error to the engine")
	response, err = run(map[string]string{"end": "fails"})
	require.NoError(t, err)
	require.Equal(t, "the program ended with exit status 3", response.GetError())

	info.Options, err = structpb.NewStruct(map[string]any{"binary": "true"})
	require.NoError(t, err)
	response, err = run(nil)
	require.NoError(t, err)
	require.Empty(t, response.GetError())
	info.Options, err = structpb.NewStruct(map[string]any{"binary": "true", "buildTarget": "bin/program"})
	require.NoError(t, err)
	_, err = run(nil)
	require.ErrorContains(t, err, "runtime.options has both binary and buildTarget: keep one")
}

func TestRunOfWhatDoesNotBuild(t *testing.T) {
	t.Parallel()
	_, address := startEngine(t)
	info := program(t, map[string]string{"go.mod": goMod, "main.go": "package main\n\nfunc main() { missing() }\n"})
	_, err := client(t, address).Run(t.Context(), &pulumirpc.RunRequest{Pwd: info.GetProgramDirectory(), Info: info})
	require.ErrorContains(t, err, "go build in "+info.GetProgramDirectory()+": exit status 1")
}

func TestHandshakeComesFirstWithoutAnEngine(t *testing.T) {
	t.Parallel()
	_, address := startEngine(t)
	runtime := client(t, "")
	info := program(t, map[string]string{"go.mod": goMod, "main.go": "package main\n\nfunc main() {}\n"})
	request := &pulumirpc.RunRequest{Pwd: info.GetProgramDirectory(), Info: info}
	_, err := runtime.Run(t.Context(), request)
	require.ErrorContains(t, err, "no engine is known: Handshake comes before Run")
	_, err = runtime.Handshake(t.Context(), &pulumirpc.LanguageHandshakeRequest{EngineAddress: address})
	require.NoError(t, err)
	response, err := runtime.Run(t.Context(), request)
	require.NoError(t, err)
	require.Empty(t, response.GetError())
}

// TestPackages: modules that are replaced by folders need no network. They are read from go.mod like all others.
func TestPackages(t *testing.T) {
	t.Parallel()
	info := program(t, map[string]string{
		"go.mod": goMod + `
require (
	example.org/pulumi-command/sdk v1.2.1
	example.org/nested/sdk/v6 v6.18.1
	example.org/plain v1.0.0
	example.org/deep v1.0.0 // indirect
)
replace (
	example.org/pulumi-command/sdk => ./command
	example.org/nested/sdk/v6 => ./nested
	example.org/plain => ./plain
	example.org/deep => ./plain
)
`,
		"main.go":                             "package main\n\nfunc main() {}\n",
		"command/go.mod":                      "module example.org/pulumi-command/sdk\n",
		"command/go/pulumi-plugin.json":       `{"resource": true, "name": "command", "version": "1.2.1"}`,
		"nested/go.mod":                       "module example.org/nested/sdk/v6\n",
		"nested/go/nested/pulumi-plugin.json": `{"resource": true, "name": "nested", "server": "github://api.github.com/example"}`,
		"plain/go.mod":                        "module example.org/plain\n",
	})
	runtime := client(t, "")
	packages, err := runtime.GetRequiredPackages(t.Context(), &pulumirpc.GetRequiredPackagesRequest{Info: info})
	require.NoError(t, err)
	var found []string
	for _, p := range packages.GetPackages() {
		found = append(found, p.GetKind()+" "+p.GetName()+" "+p.GetVersion()+" "+p.GetServer())
	}
	require.Equal(t, []string{"resource command 1.2.1 ", "resource nested v6.18.1 github://api.github.com/example"}, found)

	for _, transitive := range []bool{false, true} {
		dependencies, err := runtime.GetProgramDependencies(t.Context(), &pulumirpc.GetProgramDependenciesRequest{Info: info, TransitiveDependencies: transitive})
		require.NoError(t, err)
		var names []string
		for _, d := range dependencies.GetDependencies() {
			require.Empty(t, d.GetVersion(), "it is replaced by a folder")
			names = append(names, d.GetName())
		}
		want := []string{"example.org/pulumi-command/sdk", "example.org/nested/sdk/v6", "example.org/plain"}
		if transitive {
			want = append(want, "example.org/deep")
		}
		require.Equal(t, want, names)
	}
}

func TestAbout(t *testing.T) {
	t.Parallel()
	runtime := client(t, "")
	about, err := runtime.About(t.Context(), &pulumirpc.AboutRequest{Info: program(t, nil)})
	require.NoError(t, err)
	require.Contains(t, about.GetVersion(), "go version go1.")
	info, err := runtime.GetPluginInfo(t.Context(), &emptypb.Empty{})
	require.NoError(t, err)
	require.Equal(t, "v3.254.0", info.GetVersion())
	_, err = runtime.Pack(t.Context(), &pulumirpc.PackRequest{})
	require.ErrorContains(t, err, "method Pack not implemented")
}
