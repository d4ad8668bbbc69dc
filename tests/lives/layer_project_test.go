package lives_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve/role"
	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// programs has the program of a plain pulumi be built once.
var programs sync.Once

// makeProject makes the folder of a project with the stacks of a site, which share a lab.
func (l *lane) makeProject(t testing.TB) {
	t.Helper()
	checkout := l.stack.Root
	l.stack.Root = filepath.Join(l.folder(), "project")
	name := l.stack.Name
	on := func(name string) labstack.Stack {
		stack := l.stack
		stack.Name, stack.Inventory = name, filepath.Join(stack.Root, "stacks", name)
		return stack
	}
	l.beside = map[site.Layer]labstack.Stack{site.HostsLayer: on(name + "-hosts"), site.SystemsLayer: on(name + "-systems")}
	l.stack = on(name)
	for _, stack := range l.stacks() {
		require.NoError(t, os.MkdirAll(stack.Inventory, 0o700))
		settings := "config:\n  em-infra:inventory: stacks/" + stack.Name + "\n  em-infra:proxmoxEndpoint: https://" + name + ":8006\n  em-infra:proxmoxInsecure: \"false\"\n"
		require.NoError(t, os.WriteFile(filepath.Join(l.stack.Root, "Pulumi."+stack.Name+".yaml"), []byte(settings), 0o600))
	}
	project, err := os.ReadFile(filepath.Join(checkout, "Pulumi.yaml"))
	require.NoError(t, err)
	const built = "buildTarget: bin/program"
	require.Contains(t, string(project), built)
	text := strings.Replace(string(project), built, "binary: "+programPath(), 1) // the project has no sources
	require.NoError(t, os.WriteFile(filepath.Join(l.stack.Root, "Pulumi.yaml"), []byte(text), 0o600))
}

// sharedLab is the name of the lab, by the endpoint in the stacks' files.
func (l *lane) sharedLab() string { return "_" + l.stack.Name + "-8006" }

// programPath is where the program of a plain pulumi is, which is built once.
func programPath() string { return filepath.Join(workshop.Dir, "program") }

// writeProgram builds the program as the language host does.
func (f *life) writeProgram() {
	f.t.Helper()
	programs.Do(func() {
		build := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-w -s", "-o", programPath(), ".")
		build.Dir = filepath.Join("..", "..")
		output, err := build.CombinedOutput()
		require.NoError(f.t, err, "%s", output)
	})
}

// startLab starts the lab, which gives its token the documented role. Beside layers it may manage users, too.
func (f *life) startLab() {
	f.t.Helper()
	f.mustOn(f.lane.stacks()[0], "lab", "start")
	f.eventually("the host answers", func() bool { return f.hostAnswers() })
	if f.layers == nil {
		return
	}
	more := map[string]string{"append": "1", "privs": "Realm.AllocateUser,User.Modify,Permissions.Modify"}
	require.NoError(f.t, f.asRoot().Put(f.t.Context(), "/access/roles/"+role.Name, more, nil))
}

// siteIsBorn brings all stacks up on one lab.
func (f *life) siteIsBorn() {
	f.t.Helper()
	require.NoError(f.t, os.RemoveAll(filepath.Join(f.stack.Root, ".lab")))
	output, err := f.onSite("up", "--lab", "--yes", "--time-scale", timeScale, "--seed", "life").CombinedOutput()
	require.NoError(f.t, err, "%s", output)
	f.eventually("the layers are whole", func() bool { return len(f.layersWhole(model.LayersOf("site-up")...)) == 0 })
}

// onSite returns a command on all stacks of the project.
func (f *life) onSite(args ...string) *exec.Cmd {
	return f.stack.Command(f.t.Context(), append([]string{"site"}, args...)...)
}
