package provider_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/release"
)

// sdkOf returns the folder and the version of the SDK that the root module requires.
func sdkOf(t *testing.T) (dir, version string) {
	t.Helper()
	const module = "github.com/pulumi/pulumi-kubernetes/sdk/v4"
	download := exec.Command("go", "mod", "download", "-json", module)
	download.Dir = "../../../.."
	out, err := download.Output()
	require.NoError(t, err)
	var found struct{ Dir, Version string }
	require.NoError(t, json.Unmarshal(out, &found))
	return filepath.Join(found.Dir, "go", "kubernetes"), strings.TrimPrefix(found.Version, "v")
}

// typesOf returns the properties of a struct of the SDK, with their types in a schema.
func typesOf(t *testing.T, file, name string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	types := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			if field.Tag != nil {
				tag := reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("pulumi")
				types[tag] = typeOf(field.Type)
			}
		}
		return false
	})
	require.NotEmpty(t, types, name)
	return types
}

func typeOf(expression ast.Expr) string {
	switch expression := expression.(type) {
	case *ast.StarExpr:
		return typeOf(expression.X)
	case *ast.ArrayType:
		return "array"
	case *ast.Ident:
		if kind, ok := map[string]string{
			"string": "string", "bool": "boolean", "int": "integer", "float64": "number",
		}[expression.Name]; ok {
			return kind
		}
	}
	return "object"
}

// TestInputsAreThoseOfTheSDK: the stand-in has no property that the official provider does not have, and lacks none.
func TestInputsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	dir, _ := sdkOf(t)
	for _, of := range []struct {
		file, name string
		served     map[string]string
	}{
		{"provider.go", "providerArgs", cluster.Inputs()},
		{"pulumiTypes.go", "KubeClientSettings", cluster.ClientInputs()},
		{"pulumiTypes.go", "HelmReleaseSettings", cluster.HelmInputs()},
		{"helm/v3/release.go", "releaseArgs", release.Inputs()},
		{"helm/v3/pulumiTypes.go", "RepositoryOpts", release.RepositoryInputs()},
		{"helm/v3/pulumiTypes.go", "ReleaseStatus", release.StatusOutputs()},
	} {
		require.Equal(t, typesOf(t, filepath.Join(dir, of.file), of.name), of.served, of.name)
	}
	outputs := typesOf(t, filepath.Join(dir, "helm/v3/release.go"), "Release")
	for name := range release.Outputs() {
		require.Contains(t, outputs, name)
	}
}

// TestTokenIsThatOfTheSDK: the SDK registers releases under this token.
func TestTokenIsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	dir, _ := sdkOf(t)
	text, err := os.ReadFile(filepath.Join(dir, "helm/v3/release.go"))
	require.NoError(t, err)
	require.Contains(t, string(text), `ctx.RegisterResource("`+string(release.Token)+`", name, args`)
}

func TestSchemaNamesTheSDKsVersion(t *testing.T) {
	t.Parallel()
	_, version := sdkOf(t)
	require.Equal(t, "4.30.0", version, "the stand-in emulates 4.30.0: compare it with the new version")
	response, err := start(t).GetSchema(t.Context(), &pulumirpc.GetSchemaRequest{})
	require.NoError(t, err)
	var schema struct {
		Name, Version string
		Provider      struct{ InputProperties map[string]any }
		Resources     map[string]struct{ RequiredInputs []string }
	}
	require.NoError(t, json.Unmarshal([]byte(response.GetSchema()), &schema))
	require.Equal(t, "kubernetes", schema.Name)
	require.Equal(t, version, schema.Version)
	require.Contains(t, schema.Provider.InputProperties, "kubeconfig")
	require.Equal(t, []string{"chart"}, schema.Resources[string(release.Token)].RequiredInputs)
}
