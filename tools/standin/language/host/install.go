package host

import (
	"os/exec"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// InstallDependencies updates go.mod and go.sum to what the program needs, for `pulumi install`.
func (h *Host) InstallDependencies(request *pulumirpc.InstallDependenciesRequest, stream pulumirpc.LanguageRuntime_InstallDependenciesServer) error {
	streams, stdout, stderr, err := rpcutil.MakeInstallDependenciesStreams(stream, request.GetIsTerminal())
	if err != nil {
		return err
	}
	defer streams.Close()
	command := exec.CommandContext(stream.Context(), "go", "mod", "tidy")
	command.Dir = request.GetInfo().GetProgramDirectory()
	command.Stdout, command.Stderr = stdout, stderr
	return command.Run()
}
