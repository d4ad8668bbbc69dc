package toolchain_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

func TestInstallBuildsWhatIsMissingAndFindsItAgain(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	progress := &log{}
	opts.Progress = progress
	first := install(t, opts)

	type brief struct {
		name, version, from string
		kind                toolchain.Kind
		origin              toolchain.Origin
		says                string
	}
	var got []brief
	for _, tool := range first.Tools {
		require.True(t, tool.Installed)
		out, err := exec.Command(tool.Path).CombinedOutput()
		require.NoError(t, err)
		got = append(got, brief{tool.Name, tool.Version, tool.From, tool.Kind, tool.Origin, string(out)})
	}
	require.Equal(t, []brief{
		{"pulumi", "v3.254.0", "github.com/pulumi/pulumi/pkg/v3 v3.254.0", toolchain.CLI, toolchain.Built, "unset\n"},
		{
			"proxmoxve", "v6.18.1", "github.com/bpg/terraform-provider-proxmox v0.73.0",
			toolchain.Plugin, toolchain.Built, "6.18.1\n",
		},
		{
			"talos", "v0.7.1", "github.com/siderolabs/terraform-provider-talos v0.8.0",
			toolchain.Plugin, toolchain.Built, "0.7.1\n",
		},
		{"command", "v1.2.1", "", toolchain.Plugin, toolchain.StandIn, "1.2.1\n"},
		{"kubernetes", "v4.30.0", "", toolchain.Plugin, toolchain.StandIn, "4.30.0\n"},
	}, got)
	require.Equal(t, "api.github.com cannot be reached: no network here", first.Tools[1].Reason)
	require.Equal(t, []string{
		"official plugins cannot be had from api.github.com (no network here), get.pulumi.com (no network here)",
		"5 of the tools are built from Go modules: up to 10 min on two cores, twice that on slow ones, once; they stay in " + opts.CacheDir,
		"building pulumi v3.254.0 (1 of 5)", "pulumi v3.254.0: built (1 of 5",
		"building proxmoxve v6.18.1 (2 of 5)", "proxmoxve v6.18.1: built (2 of 5",
		"building talos v0.7.1 (3 of 5)", "talos v0.7.1: built (3 of 5",
		"building command v1.2.1 (4 of 5)", "command v1.2.1: built (4 of 5",
		"building kubernetes v4.30.0 (5 of 5)", "kubernetes v4.30.0: built (5 of 5",
	}, progress.lines())

	progress = &log{}
	opts.Progress = progress
	idle, called := idleGo(t)
	require.Equal(t, first, install(t, opts.With(idle)))
	require.Empty(t, progress.String())
	require.NoFileExists(t, called, "for tools in the cache no command runs")
}

// idleGo returns a machine whose go command creates the file called, and fails.
func idleGo(t *testing.T) (machine toolchain.Seams, called string) {
	t.Helper()
	called = filepath.Join(t.TempDir(), "called")
	machine = offline()
	machine.LookPath = found(map[string]string{"go": script(t, `echo "$@" >> `+called+`; exit 1`)})
	machine.Probe = func(context.Context, string) error {
		t.Error("the network is asked for what is in the cache")
		return errors.New("no network here")
	}
	return machine, called
}

func TestRehearsalGetsWhatTheLabRuns(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Rehearsal = true
	installed := install(t, opts)
	require.Len(t, installed.Tools, 7)
	for _, wanted := range []struct{ name, version, from string }{
		{"controlplane", "v1.35.4", "k8s.io/kubernetes v1.35.4"},
		{"kwok", "v0.8.0", "sigs.k8s.io/kwok v0.8.0"},
	} {
		got := tool(t, installed, wanted.name)
		require.Equal(t, toolchain.Lab, got.Kind)
		require.Equal(t, wanted.version, got.Version)
		require.Equal(t, wanted.from, got.From)
		require.Equal(t, wanted.name, filepath.Base(got.Path))
	}
	home := t.TempDir()
	require.NoError(t, installed.Populate(home))
	found, err := filepath.Glob(filepath.Join(home, "plugins", "*"))
	require.NoError(t, err)
	require.Len(t, found, 4, "the lab's tools are no plugins")

	name, err := toolchain.ControlPlane("1.36")
	require.NoError(t, err)
	opts.Names = []string{name}
	listed, err := toolchain.List(t.Context(), opts)
	require.NoError(t, err)
	require.False(t, listed[0].Installed, "another release is installed on request only")
	another := install(t, opts).Tools[0]
	require.Equal(t, "controlplane-1.36", filepath.Base(another.Path))
	require.Equal(t, "v1.36.2", another.Version)
	require.Equal(t, "k8s.io/kubernetes v1.36.2", another.From)
	require.NotEqual(t, tool(t, installed, "controlplane").Path, another.Path)
	_, err = toolchain.ControlPlane("1.30")
	require.EqualError(t, err, `the control plane of Kubernetes "1.30" cannot be built: choose 1.36`)

	opts.Rehearsal, opts.Names = false, nil
	require.Len(t, install(t, opts).Tools, 5)
	opts.Names = []string{"kwok"}
	require.Len(t, install(t, opts).Tools, 1, "by its name")
}

func TestCLIHasTheRootThatTheAutomationAPITakes(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"pulumi"}
	cli, ok := install(t, opts).CLI()
	require.True(t, ok)
	require.Equal(t, filepath.Join(cli.Root(), "bin", "pulumi"), cli.Path)
}

func TestChangedSourceIsBuiltAnew(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"talos", "command"}
	before := install(t, opts)

	write(t, filepath.Join(opts.Source, "tools/standin/command/plugin/main_test.go"), "package main_test\n")
	require.Equal(t, before, install(t, opts), "a build does not depend on tests")

	changed := filepath.Join(opts.Source, "tools/standin/command/plugin/main.go")
	write(t, changed, "package main\n\nvar version string\n\nfunc main() { println(\"changed\", version) }\n")
	after := install(t, opts)
	require.Equal(t, before.Tools[0], after.Tools[0], "talos does not depend on it")
	out, err := exec.Command(tool(t, after, "command").Path).CombinedOutput()
	require.NoError(t, err)
	require.Equal(t, "changed 1.2.1\n", string(out))

	built := modTime(t, before.Tools[1].Path)
	write(t, changed, sayVersion)
	require.Equal(t, before, install(t, opts), "the entry before the last one still exists")
	require.Equal(t, built, modTime(t, before.Tools[1].Path))
}

func TestOldEntriesAndLeftoversArePruned(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	dir := filepath.Join(opts.CacheDir, "tools", "command")
	write(t, filepath.Join(dir, "v1.0.0-dead.partial", "bin", "x"), "a build that was killed")
	for _, text := range []string{"1", "2", "3"} {
		write(t, filepath.Join(opts.Source, "tools/standin/command/plugin/more.go"), "package main\n\nvar _ = "+text+"\n")
		install(t, opts)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, filepath.Ext(entry.Name()))
	}
	require.Len(t, names, 4, "two entries, each with its lock: %v", names)
}

func TestDamagedEntriesAreBuiltAnew(t *testing.T) {
	t.Parallel()
	entry := func(tool toolchain.Tool) string { return filepath.Dir(filepath.Dir(tool.Path)) }
	for name, damage := range map[string]func(t *testing.T, built toolchain.Tool){
		"half a binary": func(t *testing.T, built toolchain.Tool) {
			require.NoError(t, os.Truncate(built.Path, 100))
		},
		"a binary of the right size and the wrong content": func(t *testing.T, built toolchain.Tool) {
			info, err := os.Stat(built.Path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(built.Path, make([]byte, info.Size()), 0o755))
		},
		"no binary": func(t *testing.T, built toolchain.Tool) {
			require.NoError(t, os.Remove(built.Path))
		},
		"no manifest": func(t *testing.T, built toolchain.Tool) {
			require.NoError(t, os.Remove(filepath.Join(entry(built), "manifest.json")))
		},
		"half a manifest": func(t *testing.T, built toolchain.Tool) {
			write(t, filepath.Join(entry(built), "manifest.json"), `{"origin": "built", "fil`)
		},
		"killed before the rename": func(t *testing.T, built toolchain.Tool) {
			require.NoError(t, os.Rename(entry(built), entry(built)+".partial"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := checkout(t)
			opts.Names = []string{"command"}
			built := install(t, opts).Tools[0]
			damage(t, built)

			listed, err := toolchain.List(t.Context(), opts)
			require.NoError(t, err)
			require.False(t, listed[0].Installed)
			again := install(t, opts).Tools[0]
			require.Equal(t, built.Path, again.Path)
			out, err := exec.Command(again.Path).CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, "1.2.1\n", string(out))
			require.NoDirExists(t, entry(built)+".partial")
		})
	}
}

func TestCopiedCacheIsWhole(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	built := install(t, opts).Tools[0]
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(built.Path, later, later))
	require.Equal(t, built, install(t, opts).Tools[0])
	require.Equal(t, later.UnixNano(), modTime(t, built.Path), "it was not built again")
}

func TestListGetsNothing(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	tools, err := toolchain.List(t.Context(), opts)
	require.NoError(t, err)
	require.Equal(t, []toolchain.Tool{
		{
			Name: "pulumi", Kind: toolchain.CLI, Version: "v3.254.0", Origin: toolchain.Built,
			From: "github.com/pulumi/pulumi/pkg/v3 v3.254.0",
		},
		{
			Name: "proxmoxve", Kind: toolchain.Plugin, Version: "v6.18.1", Origin: toolchain.Built,
			From: "github.com/bpg/terraform-provider-proxmox v0.73.0",
		},
		{
			Name: "talos", Kind: toolchain.Plugin, Version: "v0.7.1", Origin: toolchain.Built,
			From: "github.com/siderolabs/terraform-provider-talos v0.8.0",
		},
		{Name: "command", Kind: toolchain.Plugin, Version: "v1.2.1", Origin: toolchain.StandIn},
		{Name: "kubernetes", Kind: toolchain.Plugin, Version: "v4.30.0", Origin: toolchain.StandIn},
	}, tools)
	require.NoDirExists(t, opts.CacheDir)
}

func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	release, err := toolchain.Lock(t.Context(), opts, "command")
	require.NoError(t, err)

	progress := &log{}
	opts.Progress = progress
	results := make(chan *toolchain.Installed, 2)
	for range 2 {
		go func() {
			installed, err := toolchain.Install(t.Context(), opts)
			if err != nil {
				t.Error(err)
			}
			results <- installed
		}()
	}
	waiting := func() (n int) {
		for _, line := range progress.lines() {
			if line == "waiting for process "+strconv.Itoa(os.Getpid())+", which is getting command v1.2.1" {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return waiting() == 2 }, time.Minute, 10*time.Millisecond)
	release()
	require.Equal(t, <-results, <-results)
	built := 0
	for _, line := range progress.lines() {
		if line == "command v1.2.1: built (1 of 1" {
			built++
		}
	}
	require.Equal(t, 1, built, progress.String())
}

func TestPopulate(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	installed := install(t, opts)
	home := filepath.Join(t.TempDir(), "pulumi-home")
	write(t, filepath.Join(home, "plugins", "resource-talos-v0.7.1.partial"), "")
	write(t, filepath.Join(home, "plugins", "resource-talos-v0.7.1", "pulumi-resource-talos"), "half a download")
	for range 2 {
		require.NoError(t, installed.Populate(home))
		found, err := filepath.Glob(filepath.Join(home, "plugins", "*", "*"))
		require.NoError(t, err)
		require.Equal(t, []string{
			filepath.Join(home, "plugins/resource-command-v1.2.1/pulumi-resource-command"),
			filepath.Join(home, "plugins/resource-kubernetes-v4.30.0/pulumi-resource-kubernetes"),
			filepath.Join(home, "plugins/resource-proxmoxve-v6.18.1/pulumi-resource-proxmoxve"),
			filepath.Join(home, "plugins/resource-talos-v0.7.1/pulumi-resource-talos"),
		}, found)
		require.NoFileExists(t, filepath.Join(home, "plugins", "resource-talos-v0.7.1.partial"))
		for i, name := range []string{"command", "kubernetes", "proxmoxve", "talos"} {
			there, err := os.Stat(found[i])
			require.NoError(t, err)
			cached, err := os.Stat(tool(t, installed, name).Path)
			require.NoError(t, err)
			require.True(t, os.SameFile(there, cached), name)
		}
	}
	require.Equal(t, home, installed.Environment(home)["PULUMI_HOME"])
}

func TestBuildsAreForThisMachineWhateverTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	machine := offline()
	environ := machine.Environ
	machine.Environ = func() []string {
		return append(environ(), "GOOS=plan9", "GOARCH=arm", "GOFLAGS=-mod=mod -tags=x", "GOWORK=/nowhere/go.work")
	}
	opts = opts.With(machine)
	opts.Names = []string{"command"}
	out, err := exec.Command(install(t, opts).Tools[0].Path).CombinedOutput()
	require.NoError(t, err, runtime.GOOS)
	require.Equal(t, "1.2.1\n", string(out))
}
