package toolchain_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// root is this checkout.
const root = "../.."

func required(t *testing.T, path, module string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	parsed, err := modfile.ParseLax(path, text, nil)
	require.NoError(t, err)
	for _, r := range parsed.Require {
		if r.Mod.Path == module {
			return r.Mod.Version
		}
	}
	t.Fatalf("%s requires no %s", path, module)
	return ""
}

// TestVersionsThatMoveTogether compares the versions in the go.mod files.
func TestVersionsThatMoveTogether(t *testing.T) {
	t.Parallel()
	require.Equal(t, required(t, "go.mod", "github.com/pulumi/pulumi/sdk/v3"),
		required(t, "tools/cli/go.mod", "github.com/pulumi/pulumi/pkg/v3"), "the CLI and the program's SDK")
	const machinery = "github.com/siderolabs/talos/pkg/machinery"
	require.Equal(t, required(t, "go.mod", machinery), required(t, "tools/go.mod", machinery),
		"the Talos of the plugin and of the program")
	const standIn = "tools/standin/kubernetes/go.mod"
	for _, pulumi := range []string{"github.com/pulumi/pulumi/pkg/v3", "github.com/pulumi/pulumi/sdk/v3"} {
		require.Equal(t, required(t, "tools/go.mod", pulumi), required(t, standIn, pulumi), "compiled once")
	}
	require.Equal(t, required(t, "tools/controlplane/go.mod", "k8s.io/component-base"),
		required(t, standIn, "k8s.io/client-go"), "the stand-in and the API server that it is tested against")
	const pulumiSDK = "github.com/pulumi/pulumi/sdk/v3"
	require.Equal(t, required(t, "go.mod", pulumiSDK), required(t, "tools/standin/language/go.mod", pulumiSDK),
		"the language host and the program's SDK")
	for _, tool := range toolchain.Catalogue() {
		if tool.Kind != toolchain.Lab {
			require.NotEmpty(t, required(t, "go.mod", tool.SDK))
		}
		if tool.Upstream != "" {
			require.NotEmpty(t, required(t, tool.Module+"/"+tool.ModFile, tool.Upstream))
		}
	}
}

// TestPartsOfKubernetesMoveTogether: k8s.io/kubernetes v1.N.P consists of k8s.io/* v0.N.P, and all of them are replacements.
func TestPartsOfKubernetesMoveTogether(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"tools/controlplane/go.mod", "tools/controlplane/kubernetes-1.36.mod"} {
		parts := strings.Replace(required(t, path, "k8s.io/kubernetes"), "v1.", "v0.", 1)
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		parsed, err := modfile.Parse(path, text, nil)
		require.NoError(t, err)
		require.NotEmpty(t, parsed.Replace)
		for _, r := range parsed.Replace {
			require.Equal(t, r.Old.Path, r.New.Path)
			require.Equal(t, parts, r.New.Version, r.New.Path)
		}
	}
}

// TestSourcesAreAllThatABuildReads follows the imports of a tool through our own packages. Each package must be in one of the
// folders that the tool's key is computed from. Otherwise a change to it would not cause a new build.
func TestSourcesAreAllThatABuildReads(t *testing.T) {
	t.Parallel()
	for _, tool := range toolchain.Catalogue() {
		if tool.Kind != toolchain.Plugin && tool.Kind != toolchain.LanguageHost {
			continue
		}
		t.Run(tool.Name, func(t *testing.T) {
			t.Parallel()
			ours := []string{strings.TrimPrefix(tool.Main, "./")}
			for at := 0; at < len(ours); at++ {
				ours = append(ours, ourImports(t, tool.Module, ours[at])...)
			}
			require.Greater(t, len(ours), 1, "main imports none of our packages")
			for _, name := range ours {
				require.True(t, slices.ContainsFunc(tool.Sources, func(source string) bool {
					return name == source || strings.HasPrefix(name, source+"/")
				}), "%s is not under %v", name, tool.Sources)
			}
		})
	}
}

// ourImports returns the folders of the packages that a package imports from its own module.
func ourImports(t *testing.T, module, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, module, dir, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, dir)
	var ours []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			if folder, ok := strings.CutPrefix(path, "github.com/em-infra/em-infra/"+module+"/"); ok {
				ours = append(ours, folder)
			}
		}
	}
	return ours
}

// TestServersAreThoseOfTheSDKs: a plain pulumi downloads from the server that the SDK names, and so must we.
func TestServersAreThoseOfTheSDKs(t *testing.T) {
	t.Parallel()
	for _, tool := range toolchain.Catalogue() {
		if tool.Kind != toolchain.Plugin {
			continue
		}
		cmd := exec.Command("go", "mod", "download", "-json", tool.SDK)
		cmd.Dir = root
		out, err := cmd.Output()
		require.NoError(t, err)
		var sdk struct{ Dir string }
		require.NoError(t, json.Unmarshal(out, &sdk))
		text, err := os.ReadFile(filepath.Join(sdk.Dir, "go", tool.Name, "pulumi-plugin.json"))
		require.NoError(t, err)
		var plugin struct{ Name, Server string }
		require.NoError(t, json.Unmarshal(text, &plugin))
		require.Equal(t, tool.Name, plugin.Name)
		require.Equal(t, tool.Server, plugin.Server)
	}
}

// TestRealTools gets the tools of this checkout and checks the names and versions that the engine and the plugins report. This
// takes minutes if the tools are not in the cache, and no time if they are.
func TestRealTools(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tools when they are not in the cache")
	}
	t.Parallel()
	installed, err := toolchain.Install(t.Context(), toolchain.Options{Progress: os.Stderr})
	require.NoError(t, err)
	progress := &log{}
	again, err := toolchain.Install(t.Context(), toolchain.Options{Progress: progress})
	require.NoError(t, err)
	require.Equal(t, installed, again)
	require.Empty(t, progress.String(), "tools in the cache are not downloaded or built")

	home := t.TempDir()
	require.NoError(t, installed.Populate(home))
	cli, ok := installed.CLI()
	require.True(t, ok)
	pulumi := func(args ...string) []byte {
		cmd := exec.Command(cli.Path, args...)
		cmd.Env = os.Environ()
		for name, value := range installed.Environment(home) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		out, err := cmd.Output()
		require.NoError(t, err, "%v", args)
		return out
	}

	require.Equal(t, cli.Version, strings.TrimSpace(string(pulumi("version"))))
	for _, plugin := range installed.Tools[1:] {
		number := strings.TrimPrefix(plugin.Version, "v")
		var schema struct{ Name, Version string }
		require.NoError(t, json.Unmarshal(pulumi("package", "get-schema", plugin.Name+"@"+number), &schema))
		require.Equal(t, plugin.Name, schema.Name)
		require.Equal(t, number, schema.Version)
	}
}
