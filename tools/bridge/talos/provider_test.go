package talos_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfgen"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/bridge/talos"
	"github.com/em-infra/em-infra/tools/internal/contract"
)

const sdkModule = "github.com/pulumiverse/pulumi-talos/sdk"

// generate, when set, makes the test binary be the bridge's schema generator for that version.
const generate = "EM_INFRA_GENERATE"

var update = flag.Bool("update", false, "write what the generator makes over the embedded files")

func TestMain(m *testing.M) {
	if version := os.Getenv(generate); version != "" {
		tfgen.Main(talos.Name, talos.Provider(version)) // exits by itself when it fails
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestEmbeddedFilesAreTheGenerators regenerates what the plugin embeds. With -update it is the way to make them.
func TestEmbeddedFilesAreTheGenerators(t *testing.T) {
	t.Parallel()
	sdk, err := contract.FindSDK(sdkModule)
	require.NoError(t, err)
	out := t.TempDir()
	cmd := exec.Command(os.Args[0], "schema", "--skip-docs", "--skip-examples", "--out", out)
	cmd.Env = append(os.Environ(), generate+"="+sdk.Version)
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", text)

	for _, name := range []string{"schema.json", "bridge-metadata.json"} {
		made, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		if *update {
			require.NoError(t, os.WriteFile(name, made, 0o644))
		}
		embedded, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(made), string(embedded), "%s is not what the generator makes: run with -update", name)
	}
}

// TestSchemaServesTheSDK holds the schema against the Go SDK: every resource and function, every input and output
// with its type (so that a block of which there can be only one is an object in both), what is required and secret.
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
