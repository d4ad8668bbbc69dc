package talos_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfgen"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/talos"
	"github.com/em-infra/em-infra/tools/internal/contract"
	"github.com/em-infra/em-infra/tools/internal/generator"
)

const sdkModule = "github.com/pulumiverse/pulumi-talos/sdk"

func TestMain(m *testing.M) {
	generator.Main(m, func(version string) { tfgen.Main(talos.Name, talos.Provider(version)) })
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
	const older = "the SDK was made from 0.10.1 of the Terraform provider; 0.8.0 is the last that the Go module proxy serves"
	exceptions := contract.Exceptions{
		"talos:imageFactory/getExtensionsVersions:getExtensionsVersions inputs.exactFilters":  older,
		"talos:imageFactory/getExtensionsVersions:getExtensionsVersions outputs.exactFilters": older,
		"talos:machine/configurationApply:ConfigurationApply outputs.resolvedApplyMode":       older,
		"talos:machine/getDisks:getDisks inputs.filters":                                      older,
		"talos:machine/getDisks:getDisks inputs.selector":                                     older,
		"talos:machine/getDisks:getDisks outputs":                                             older,
	}
	sdk, err := contract.FindSDK(sdkModule)
	require.NoError(t, err)
	metadata, err := talos.Metadata(sdk.Version)
	require.NoError(t, err)
	differences, err := contract.Compare(sdk, "go/talos", metadata.PackageSchema, exceptions)
	require.NoError(t, err)
	require.Empty(t, strings.Join(differences, "\n"))
}
