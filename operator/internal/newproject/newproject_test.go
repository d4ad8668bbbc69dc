package newproject_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/newproject"
)

// samples are the stacks of this repository, with the files of their inventories.
var samples = map[string][]string{
	"k3s-dev": {"cluster.yaml", "nodes.yaml"}, "k8s-prod": {"cluster.yaml", "nodes.yaml"}, "site-hosts": {"hosts.yaml"}, "site-systems": {"systems.yaml"},
}

// schemas are those of all files of an inventory.
var schemas = []string{"schemas/cluster.schema.json", "schemas/hosts.schema.json", "schemas/nodes.schema.json", "schemas/systems.schema.json"}

// TestTheFilesAreCurrent: the embedded project equals that of this repository, with its sample stacks. With -update it is copied anew.
func TestTheFilesAreCurrent(t *testing.T) {
	t.Parallel()
	const root = "../../.."
	sources := append([]string{"Pulumi.yaml", ".gitignore"}, schemas...)
	for stack, files := range samples {
		sources = append(sources, "Pulumi."+stack+".yaml")
		for _, file := range files {
			sources = append(sources, "stacks/"+stack+"/"+file)
		}
	}
	slices.Sort(sources)
	texts := map[string]string{}
	for _, source := range sources {
		text, err := os.ReadFile(filepath.Join(root, source))
		require.NoError(t, err)
		require.NotContains(t, string(text), "encryptionsalt", "the secret of a stack that somebody works with")
		texts[source] = string(text)
		if golden.Update() {
			file := filepath.Join("files", strings.TrimPrefix(source, "."))
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755)) //nolint:gosec // a folder of sources
			require.NoError(t, os.WriteFile(file, text, 0o644))        //nolint:gosec // a source
		}
	}
	if golden.Update() {
		return // they are embedded when the test is built again
	}
	example, err := newproject.Example()
	require.NoError(t, err)
	require.Equal(t, append([]string{".gitignore", ".state/.gitkeep"}, sources[1:]...), example.Paths())
	for source, text := range texts {
		require.Equal(t, text, string(example[source]), "copy it anew: go test ./operator/internal/newproject -update")
	}
}

func TestABareProjectHasNoStack(t *testing.T) {
	t.Parallel()
	bare, err := newproject.Bare()
	require.NoError(t, err)
	require.Equal(t, append([]string{".gitignore", ".state/.gitkeep", "Pulumi.yaml"}, schemas...), bare.Paths())
}

// TestNothingIsOverwritten: what was written before the file that exists is removed again.
func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := newproject.Files{"a/one": []byte("1"), "b": []byte("2"), "c": []byte("3")}
	require.Empty(t, files.There(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b"), []byte("mine"), 0o600))
	require.Equal(t, []string{"b"}, files.There(dir))
	require.ErrorIs(t, files.Write(dir), fs.ErrExist)
	require.NoFileExists(t, filepath.Join(dir, "a", "one"))
	require.NoFileExists(t, filepath.Join(dir, "c"))
	mine, err := os.ReadFile(filepath.Join(dir, "b"))
	require.NoError(t, err)
	require.Equal(t, "mine", string(mine))

	require.NoError(t, os.Remove(filepath.Join(dir, "b")))
	require.NoError(t, files.Write(dir))
	require.Equal(t, []string{"a/one", "b", "c"}, files.There(dir))
}
