package operator_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// labs are labs of which some exist.
type labs struct {
	operator.Lab
	exist   []string // by the end of their folders
	stopped *[]string
}

func (l labs) Find(site operator.Site) (operator.LabHost, bool, error) {
	for _, one := range l.exist {
		if strings.HasSuffix(site.Dir, one) {
			return operator.LabHost{}, true, nil
		}
	}
	return operator.LabHost{}, false, nil
}

func (l labs) Stop(_ context.Context, site operator.Site) error {
	*l.stopped = append(*l.stopped, site.Shared)
	return nil
}

// projectOfHosts is a project whose stacks configure a host each; a stack is "name@endpoint".
func projectOfHosts(t *testing.T, stacks ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	files := map[string]string{"Pulumi.yaml": "name: em-infra\nruntime: go\n"}
	for _, one := range stacks {
		stack, endpoint, _ := strings.Cut(one, "@")
		files["Pulumi."+stack+".yaml"] = "config: {em-infra:proxmoxEndpoint: \"" + endpoint + "\"}\n"
		files["stacks/"+stack+"/hosts.yaml"] = "apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: " + stack + "\nhosts: [{name: " + stack + "}]\n"
	}
	for path, text := range files {
		path = filepath.Join(root, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

// TestStacksOfOneProxmoxVEShareALab, those of another one have another, and a lab that a stack joins later is stopped.
func TestStacksOfOneProxmoxVEShareALab(t *testing.T) {
	t.Parallel()
	root := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006/api2/json", "c@https://two:8006")
	var stopped []string
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{stopped: &stopped}))
	require.Equal(t, []string{"_one-8006", "_one-8006", "_two-8006"}, stopped)
	stopped = nil
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{stopped: &stopped}))
	require.Empty(t, stopped, "nobody has joined")

	dir, inventories, err := operator.SharedLab(root, "_one-8006")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, ".lab", "_one-8006"), dir)
	require.Equal(t, []string{filepath.Join(root, "stacks", "a"), filepath.Join(root, "stacks", "b")}, inventories)
	_, _, err = operator.SharedLab(root, "_three")
	require.EqualError(t, err, "no stack shares the lab _three: start one with `em-infra site up --lab`")
}

// TestALabOfItsOwnIsNotGivenUp: a state there is that of its machines, so nothing is shared at all.
func TestALabOfItsOwnIsNotGivenUp(t *testing.T) {
	t.Parallel()
	root := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006")
	var stopped []string
	err := operator.ShareLabs(t.Context(), root, labs{exist: []string{"/b"}, stopped: &stopped})
	require.EqualError(t, err, "b has a lab of its own: take what is on it down with `em-infra destroy --stack b --lab`, stop it with `em-infra lab stop --stack b`, and delete "+
		workspace.Nearby(filepath.Join(root, ".lab", "b"))+"; or rehearse that stack alone")
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.NoDirExists(t, filepath.Join(root, ".lab", "a"))
	require.Empty(t, stopped)
}
