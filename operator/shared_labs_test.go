package operator_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// labs are labs of which some exist, and some of these run.
type labs struct {
	operator.Lab
	exist, run []string // by the end of their folders
	cannot     error    // why no lab can be what stacks need together
}

func (l labs) Find(site operator.Site) (operator.LabHost, bool, error) {
	return operator.LabHost{}, slices.ContainsFunc(l.exist, func(one string) bool { return strings.HasSuffix(site.Dir, one) }), nil
}

func (l labs) Running(site operator.Site) (operator.LabHost, error) {
	if slices.ContainsFunc(l.run, func(one string) bool { return strings.HasSuffix(site.Dir, one) }) {
		return operator.LabHost{}, nil
	}
	return operator.LabHost{}, errors.New("it does not run")
}

func (l labs) CheckShared([]string) error { return l.cannot }

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

// TestStacksOfOneProxmoxVEShareALab, and those of another one share another. A damaged stack does not prevent a lab from starting.
func TestStacksOfOneProxmoxVEShareALab(t *testing.T) {
	t.Parallel()
	root := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006/api2/json", "c@https://two:8006")
	require.EqualError(t, operator.CheckRehearsed(root, labs{}), "no stack of this project is rehearsed yet: bring the site up on a lab with `em-infra site up --lab`")
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{}))
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{run: []string{"/_one-8006"}}), "the lab runs, but no further stack has to join it")
	require.NoError(t, operator.CheckRehearsed(root, labs{exist: []string{"/_one-8006"}}))

	require.NoError(t, os.RemoveAll(filepath.Join(root, ".lab", "a")))
	require.EqualError(t, operator.ShareLabs(t.Context(), root, labs{run: []string{"/_one-8006"}}), "the lab _one-8006 runs without what a needs: when no run works there, stop it with `em-infra lab stop --stack b`, and run this again, which starts it")
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{}))

	require.NoError(t, os.WriteFile(filepath.Join(root, "stacks", "c", "hosts.yaml"), []byte("half"), 0o600))
	dir, inventories, err := operator.SharedLab(root, "_one-8006")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(root, ".lab", "_one-8006"), dir)
	require.Equal(t, []string{filepath.Join(root, "stacks", "a"), filepath.Join(root, "stacks", "b")}, inventories)
	_, _, err = operator.SharedLab(root, "_three")
	require.EqualError(t, err, "no stack shares the lab _three: start one with `em-infra site up --lab`")

	_, err = operator.Open(operator.Options{Stack: "a", Project: root, Inventory: t.TempDir(), Lab: labs{}})
	require.EqualError(t, err, "a shares its lab with other stacks, and it follows the inventory in "+workspace.Nearby(filepath.Join(root, "stacks", "a"))+": leave --inventory out")
	_, err = operator.Open(operator.Options{Stack: "a", Project: root, Inventory: filepath.Join(root, "stacks", "a"), Lab: labs{}})
	require.NoError(t, err)
}

// TestLabsThatAreNotShared: nothing is changed, and every reason is named.
func TestLabsThatAreNotShared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		labs labs
		want string
	}{
		"a lab of its own": {labs{exist: []string{"/b"}}, "b has a lab of its own: take what is on it down with `em-infra destroy --stack b --lab`, stop it with `em-infra lab stop --stack b`, and delete DIR/b; or rehearse that stack alone"},
		"two boxes":        {labs{cannot: errors.New("two boxes: remove one")}, "two boxes: remove one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := projectOfHosts(t, "a@https://one:8006", "b@https://one:8006")
			err := operator.ShareLabs(t.Context(), root, test.labs)
			require.EqualError(t, err, strings.ReplaceAll(test.want, "DIR", workspace.Nearby(filepath.Join(root, ".lab"))))
			require.ErrorAs(t, err, new(*operator.RefusedError))
			require.NoDirExists(t, filepath.Join(root, ".lab"))
		})
	}
}

// TestAStackOfAnotherEndpoint does not go to another lab by itself: its state is that of machines on the first one.
func TestAStackOfAnotherEndpoint(t *testing.T) {
	t.Parallel()
	root := projectOfHosts(t, "a@https://one:8006")
	require.NoError(t, operator.ShareLabs(t.Context(), root, labs{}))
	require.NoError(t, os.WriteFile(filepath.Join(root, "Pulumi.a.yaml"), []byte("config: {em-infra:proxmoxEndpoint: \"https://two:8006\"}\n"), 0o600))
	require.EqualError(t, operator.ShareLabs(t.Context(), root, labs{}), "a shares the lab _one-8006, but its endpoint is another one now: take what it has there down with `em-infra destroy --stack a --lab`, then delete "+
		workspace.Nearby(filepath.Join(root, ".lab", "a")))
}
