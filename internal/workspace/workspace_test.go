package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/workspace"
)

const ourProject = "name: em-infra\nruntime: go\n"

// write makes a file and the folders that it is in.
func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// project returns a folder with the project's Pulumi.yaml.
func project(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "Pulumi.yaml"), ourProject)
	return root
}

func TestFindRoot(t *testing.T) {
	t.Parallel()
	root := project(t)
	write(t, filepath.Join(root, "stacks/k3s-dev/nodes.yaml"), "")
	write(t, filepath.Join(root, "examples/embedded/Pulumi.yaml"), "name: another\nruntime: go\n")
	rehearsal, err := workspace.Rehearsal(root, "k3s-dev", "")
	require.NoError(t, err)
	require.NoError(t, rehearsal.Prepare())
	require.FileExists(t, filepath.Join(rehearsal.Dir, "Pulumi.yaml"))

	for _, test := range []struct{ name, from string }{
		{"the project's folder", ""},
		{"a folder below", "stacks/k3s-dev"},
		{"a rehearsal's folder, which has a Pulumi.yaml of the same name", ".lab/k3s-dev"},
		{"below a rehearsal's folder", ".lab/k3s-dev/pulumi-home"},
		{"a folder of another project inside of ours", "examples/embedded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, err := workspace.FindRoot(filepath.Join(root, test.from))
			require.NoError(t, err)
			require.Equal(t, root, found)
		})
	}
}

func TestFindRootFindsNone(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := workspace.FindRoot(empty)
	require.ErrorIs(t, err, workspace.ErrNoProject)
	require.EqualError(t, err, "no Pulumi.yaml of project em-infra here or in a folder above: change into the folder of your project, or write one with `em-infra init`")

	foreign := t.TempDir()
	write(t, filepath.Join(foreign, "Pulumi.yaml"), "name: another\nruntime: go\n")
	_, err = workspace.FindRoot(foreign)
	require.ErrorIs(t, err, workspace.ErrNoProject)

	damaged := filepath.Join(t.TempDir(), "Pulumi.yaml")
	write(t, damaged, "runtime: go\n")
	_, err = workspace.FindRoot(filepath.Dir(damaged))
	require.EqualError(t, err, "could not validate '"+damaged+"': project is missing a 'name' attribute: correct the file or restore it from git")
}

func TestRealWorkspace(t *testing.T) {
	t.Parallel()
	w, err := workspace.Real("/project", "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, &workspace.Workspace{
		Stack: "k3s-dev", Root: "/project", Dir: "/project", Inventory: "/project/stacks/k3s-dev", Home: "/project/.pulumi-home",
		Backend: "file:///project/.state", Backups: "/project/.backups/k3s-dev", Artifacts: "/project/artifacts/k3s-dev", Credentials: "/project/.credentials/k3s-dev",
	}, w)
	require.Equal(t, "/project/Pulumi.k3s-dev.yaml", w.StackFile())
	require.Equal(t, map[string]string{
		"PULUMI_HOME": "/project/.pulumi-home", "PULUMI_BACKEND_URL": "file:///project/.state", "PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_STACK": "k3s-dev",
	}, w.Environment(), "the passphrase is the user's")
}

func TestRehearsalWorkspace(t *testing.T) {
	t.Parallel()
	w, err := workspace.Rehearsal("/project", "k3s-dev", "")
	require.NoError(t, err)
	require.Equal(t, &workspace.Workspace{
		Stack: "k3s-dev", Root: "/project", Dir: "/project/.lab/k3s-dev", Inventory: "/project/stacks/k3s-dev",
		Home: "/project/.lab/k3s-dev/pulumi-home", Backend: "file:///project/.lab/k3s-dev/state",
		Backups:     "/project/.lab/k3s-dev/backups",
		Artifacts:   "/project/.lab/k3s-dev/artifacts",
		Credentials: "/project/.lab/k3s-dev", Rehearsed: true, Lab: "/project/.lab/k3s-dev",
	}, w)
	require.Equal(t, "/project/.lab/k3s-dev/Pulumi.k3s-dev.yaml", w.StackFile())
	require.Equal(t, "/project/.lab/k3s-dev/passphrase", w.Environment()["PULUMI_CONFIG_PASSPHRASE_FILE"])
}

func TestRehearsalNeverSharesWithTheRealStack(t *testing.T) {
	t.Parallel()
	for _, stack := range []string{"k3s-dev", "state", "a..b", "0", strings.Repeat("x", 100)} {
		rehearsed, err := workspace.Rehearsal("/project", stack, "")
		require.NoError(t, err)
		actual, err := workspace.Real("/project", stack, "")
		require.NoError(t, err)
		inside := "/project/.lab/" + stack + "/"
		for name, path := range map[string]string{
			"stack file": rehearsed.StackFile(), "home": rehearsed.Home, "state": strings.TrimPrefix(rehearsed.Backend, "file://"),
			"credentials": rehearsed.Credentials + "/",
		} {
			require.True(t, strings.HasPrefix(path, inside), "%s %s", name, path)
		}
		for _, path := range []string{actual.StackFile(), actual.Home, actual.Backend, actual.Credentials} {
			require.NotContains(t, path, "/.lab/")
		}
	}
}

func TestNamesThatLeadElsewhereAreRefused(t *testing.T) {
	t.Parallel()
	for _, stack := range []string{"", ".", "..", "../.state", "a/b", "/", ".hidden", "-x", "a b", "a\n", strings.Repeat("x", 101)} {
		for name, open := range map[string]func(root, stack, inventory string) (*workspace.Workspace, error){
			"real": workspace.Real, "rehearsal": workspace.Rehearsal,
		} {
			w, err := open("/project", stack, "")
			require.ErrorIs(t, err, workspace.ErrStackName, "%s %q", name, stack)
			require.Nil(t, w)
		}
	}
	_, err := workspace.Rehearsal("/project", "..", "")
	require.EqualError(t, err, `".." is no name of a stack: choose one of up to 100 letters, digits, -, _ and . that begins with a letter or a digit`)
}

func TestInventoryPrecedence(t *testing.T) {
	t.Parallel()
	root := project(t)
	write(t, filepath.Join(root, "Pulumi.named.yaml"), "config:\n  em-infra:inventory: clusters/one\n")
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, test := range []struct{ name, stack, asked, want string }{
		{"asked for, from the root of the file system", "named", "/else/where", "/else/where"},
		{"asked for, from the current folder", "named", "else", filepath.Join(here, "else")},
		{"named by the stack's file", "named", "", filepath.Join(root, "clusters/one")},
		{"the stack's own", "unnamed", "", filepath.Join(root, "stacks/unnamed")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for name, open := range map[string]func(root, stack, inventory string) (*workspace.Workspace, error){
				"real": workspace.Real, "rehearsal": workspace.Rehearsal,
			} {
				w, err := open(root, test.stack, test.asked)
				require.NoError(t, err)
				require.Equal(t, test.want, w.Inventory, name)
			}
		})
	}
}

func TestHasToken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, file string
		has        bool
	}{
		{"no file", "", false},
		{"no configuration", "encryptionsalt: v1:x\n", false},
		{"another key", "config:\n  em-infra:proxmoxEndpoint: https://vmhost:8006\n", false},
		{"empty", "config:\n  em-infra:proxmoxToken: \"\"\n", false},
		{"encrypted", "config:\n  em-infra:proxmoxToken:\n    secure: v1:abc\n", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			root := project(t)
			if test.file != "" {
				write(t, filepath.Join(root, "Pulumi.k3s-dev.yaml"), test.file)
			}
			w, err := workspace.Real(root, "k3s-dev", "")
			require.NoError(t, err)
			has, err := w.HasToken()
			require.NoError(t, err)
			require.Equal(t, test.has, has)
		})
	}
}

func TestDamagedStackFile(t *testing.T) {
	t.Parallel()
	root := project(t)
	file := filepath.Join(root, "Pulumi.k3s-dev.yaml")
	write(t, file, "config: [")
	_, err := workspace.Real(root, "k3s-dev", "")
	require.EqualError(t, err, file+": yaml: line 1: did not find expected node content: correct the file or restore it from git")
}

func TestNearby(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, "stacks/k3s-dev", workspace.Nearby(filepath.Join(here, "stacks/k3s-dev")))
	require.Equal(t, filepath.Dir(here), workspace.Nearby(filepath.Dir(here)))
}
