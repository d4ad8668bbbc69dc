package reference_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/inventory/reference"
)

// root is the checkout, seen from this package's folder.
const root = "../../.."

// The generated files match the types and their comments.
func TestGeneratedFilesAreFresh(t *testing.T) {
	t.Parallel()
	if golden.Update() {
		require.NoError(t, reference.Write(root))
	}
	files, err := reference.Files()
	require.NoError(t, err)
	for _, file := range files {
		have, err := os.ReadFile(filepath.Join(root, file.Path))
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(strings.Split(string(file.Text), "\n"), strings.Split(string(have), "\n")),
			"%s is stale: run go generate ./internal/inventory/...", file.Path)
	}
}

// compiled returns the schemas by the name of the file.
func compiled(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	texts, err := reference.Schemas()
	require.NoError(t, err)
	schemas := map[string]*jsonschema.Schema{}
	for name, text := range texts {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat = true
		require.NoError(t, compiler.AddResource(name, bytes.NewReader(text)))
		schemas[name], err = compiler.Compile(name)
		require.NoError(t, err)
	}
	return schemas
}

func content(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var value any
	require.NoError(t, yaml.Unmarshal(text, &value))
	return value
}

// The schemas accept every valid inventory, so an editor reports no problem in it.
func TestSchemasAcceptWhatIsSound(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	folders, err := filepath.Glob("../testdata/valid-*")
	require.NoError(t, err)
	stacks, err := filepath.Glob(root + "/stacks/*/cluster.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, stacks)
	for _, stack := range stacks {
		folders = append(folders, filepath.Dir(stack))
	}
	for _, folder := range folders {
		for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
			assert.NoError(t, schemas[name].Validate(content(t, filepath.Join(folder, name))), "%s/%s", folder, name)
		}
	}
	for _, kind := range []string{"hosts", "systems"} {
		for _, pattern := range []string{"../" + kind + "/testdata/valid-*/" + kind + ".yaml", root + "/stacks/*/" + kind + ".yaml"} {
			files, err := filepath.Glob(pattern)
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files {
				assert.NoError(t, schemas[kind+".yaml"].Validate(content(t, file)), file)
			}
		}
	}
}

// The schemas refuse a single wrong value or key, so an editor already reports it.
func TestSchemasRefuseWhatOneValueShows(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for _, test := range []struct{ fixture, file string }{
		{"key-unknown-near", "cluster.yaml"},
		{"key-unknown-in-a-node", "nodes.yaml"},
		{"key-null", "nodes.yaml"},
		{"header-kind", "nodes.yaml"},
		{"files-swapped", "cluster.yaml"},
		{"address-no-address", "nodes.yaml"},
		{"cidr-missing", "cluster.yaml"},
		{"cidr-without-length", "cluster.yaml"},
		{"contract-with-patch", "cluster.yaml"},
		{"cni-unknown", "cluster.yaml"},
		{"gpu-bdf-short", "nodes.yaml"},
		{"gpu-device-id-form", "nodes.yaml"},
		{"gpus-too-many", "nodes.yaml"},
		{"label-number", "nodes.yaml"},
		{"mac-form", "nodes.yaml"},
		{"nodes-none", "nodes.yaml"},
		{"patch-list", "cluster.yaml"},
		{"role-unknown", "nodes.yaml"},
		{"taint-effect", "nodes.yaml"},
		{"type-bool-quoted", "cluster.yaml"},
		{"type-number-quoted", "nodes.yaml"},
		{"type-text-number", "cluster.yaml"},
		{"version-without-v", "cluster.yaml"},
		{"vlan-too-large", "cluster.yaml"},
		{"vmid-too-small", "nodes.yaml"},
	} {
		assert.Error(t, schemas[test.file].Validate(content(t, filepath.Join("../testdata/invalid-"+test.fixture, test.file))), test.fixture)
	}
}

// The inventories of the repository name their schemas in the first line, by a path that leads there.
func TestStacksNameTheirSchemas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cluster", "nodes", "hosts", "systems"} {
		files, err := filepath.Glob(root + "/stacks/*/" + name + ".yaml")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			first, _, _ := strings.Cut(string(text), "\n")
			path, found := strings.CutPrefix(first, "# yaml-language-server: $schema=")
			require.True(t, found, "first line of %s: %s", file, first)
			named, err := os.Stat(filepath.Join(filepath.Dir(file), path))
			require.NoError(t, err)
			want, err := os.Stat(filepath.Join(root, "schemas", name+".schema.json"))
			require.NoError(t, err)
			require.True(t, os.SameFile(want, named), "%s names %s", file, path)
		}
	}
}
