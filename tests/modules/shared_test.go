package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/em-infra/em-infra/internal/repositorytest"
)

// built are the modules that a first run of the suite compiles, and what it compiles of each.
var built = []struct {
	dir      string
	packages []string
}{
	{".", []string{"-test", "./..."}},
	{"tools", []string{"./..."}},
	{"tools/cli", []string{"github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"}},
	{"tools/controlplane", []string{"."}},
	{"tools/kwok", []string{"."}},
	{"tools/standin/kubernetes", []string{"./..."}},
	{"tools/standin/language", []string{"./..."}},
	{"tests/kubectl", []string{"."}},
	{"tests/provider", []string{"-test", "./..."}},
}

// TestModulesShareWhatTheyCompile: Go compiles a package once for all modules that have it and all that it imports at the same versions. What
// most of them share are the client of Kubernetes and gRPC (docs/decisions/0137).
func TestModulesShareWhatTheyCompile(t *testing.T) {
	t.Parallel()
	for _, shared := range []struct {
		packages []string
		// apart are the modules that have it at versions of their own.
		apart []string
	}{
		{packages: []string{"k8s.io/client-go/kubernetes", "k8s.io/client-go/dynamic", "k8s.io/client-go/informers", "k8s.io/client-go/tools/clientcmd"}},
		// Kubernetes and etcd are released with theirs, and their servers are what a rehearsal is about. KWOK links no gRPC.
		{packages: []string{"google.golang.org/grpc"}, apart: []string{"tools/controlplane", "tools/kwok"}},
	} {
		want := requirements(t, ".")
		for _, module := range modulesOf(t, shared.packages...) {
			require.Contains(t, want, module)
			for _, other := range built {
				if slices.Contains(shared.apart, other.dir) {
					continue
				}
				if version, required := requirements(t, other.dir)[module]; required {
					require.Equal(t, want[module], version, "%s in %s/go.mod is not the one of the root's go.mod: what needs it is compiled twice", module, other.dir)
				}
			}
		}
	}
}

// modulesOf returns the modules of packages and of all that they import, as the root module has them.
func modulesOf(t *testing.T, packages ...string) []string {
	t.Helper()
	require.NoError(t, repositorytest.DependOn("go.mod"))
	list := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
	list.Dir = root
	output, err := list.Output()
	require.NoError(t, err)
	modules := strings.Fields(string(output))
	slices.Sort(modules)
	return slices.Compact(modules)
}

// requirements returns the versions that a go.mod asks for, after its replacements.
func requirements(t *testing.T, dir string) map[string]string {
	t.Helper()
	name := filepath.Join(root, dir, "go.mod")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	file, err := modfile.Parse(name, text, nil)
	require.NoError(t, err)
	versions := map[string]string{}
	for _, required := range file.Require {
		versions[required.Mod.Path] = required.Mod.Version
	}
	for _, replaced := range file.Replace {
		if _, required := versions[replaced.Old.Path]; required && replaced.New.Path == replaced.Old.Path {
			versions[replaced.Old.Path] = replaced.New.Version
		}
	}
	return versions
}
