package proxmoxve_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfgen"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/proxmoxve"
	"github.com/em-infra/em-infra/tools/internal/contract"
	"github.com/em-infra/em-infra/tools/internal/generator"
)

const sdkModule = "github.com/muhlba91/pulumi-proxmoxve/sdk/v6"

func TestMain(m *testing.M) {
	generator.Main(m, func(version string) { tfgen.MainWithMuxer(proxmoxve.Name, proxmoxve.Provider(version)) })
}

// TestEmbeddedFilesAreTheGenerators compares the embedded files with the generator's. With -update it writes them.
func TestEmbeddedFilesAreTheGenerators(t *testing.T) {
	t.Parallel()
	sdk, err := contract.FindSDK(sdkModule)
	require.NoError(t, err)
	generator.HoldEmbedded(t, sdk.Version)
}

// TestSchemaServesTheSDK compares the schema with the Go SDK: every resource and function, every input and output with its type,
// and what is required and secret. A block that can exist only once is an object in both.
func TestSchemaServesTheSDK(t *testing.T) {
	t.Parallel()
	const younger = "the SDK was made from 0.69.1 of the Terraform provider: programs cannot name it"
	exceptions := contract.Exceptions{
		"proxmoxve:VM/virtualMachine2:VirtualMachine2 inputs.rng":  younger,
		"proxmoxve:VM/virtualMachine2:VirtualMachine2 outputs.rng": younger,
		"proxmoxve:index/getVm2:getVm2 inputs.rng":                 younger,
		"proxmoxve:index/getVm2:getVm2 outputs.rng":                younger,
		"proxmoxve:index/vm2:Vm2":                                  "the deprecated name of VM/virtualMachine2, an experiment: it is not served",
	}
	sdk, err := contract.FindSDK(sdkModule)
	require.NoError(t, err)
	schema, err := proxmoxve.Schema(sdk.Version)
	require.NoError(t, err)
	differences, err := contract.Compare(sdk, "go/proxmoxve", schema, exceptions)
	require.NoError(t, err)
	require.Empty(t, strings.Join(differences, "\n"))
}
