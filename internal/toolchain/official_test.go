package toolchain_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// online returns a machine with Go, a pulumi of that version, and servers that answer. Its pulumi installs every plugin except the
// refused one, and appends the arguments of each call to the file calls.
func online(t *testing.T, version, refuses string) (machine toolchain.Seams, calls string) {
	t.Helper()
	calls = filepath.Join(t.TempDir(), "calls")
	pulumi := script(t, `
echo "$@" >> `+calls+`
case "$1 $4" in
version*) echo `+version+` ;;
*" `+refuses+`") echo "warning: retrying" >&2; echo "error: 404 HTTP error fetching plugin" >&2; exit 255 ;;
plugin*)
  dir=$PULUMI_HOME/plugins/resource-$4-$5
  mkdir -p $dir && printf '#!/bin/sh\necho official\n' > $dir/pulumi-resource-$4 && chmod +x $dir/pulumi-resource-$4
  echo "its licence" > $dir/LICENSE ;;
esac
`)
	machine = offline()
	machine.Probe = func(context.Context, string) error { return nil }
	goPath, err := exec.LookPath("go")
	require.NoError(t, err)
	machine.LookPath = found(map[string]string{"go": goPath, "pulumi": pulumi})
	return machine, calls
}

func TestOfficialToolsAreUsed(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	machine, calls := online(t, "v3.260.1", "nothing")
	opts = opts.With(machine)
	progress := &log{}
	opts.Progress = progress
	installed := install(t, opts)
	require.Equal(t, []string{
		"installing proxmoxve v6.18.1 (1 of 4)", "proxmoxve v6.18.1: installed (1 of 4",
		"installing talos v0.7.1 (2 of 4)", "talos v0.7.1: installed (2 of 4",
		"installing command v1.2.1 (3 of 4)", "command v1.2.1: installed (3 of 4",
		"installing kubernetes v4.30.0 (4 of 4)", "kubernetes v4.30.0: installed (4 of 4",
	}, progress.lines())

	cli, ok := installed.CLI()
	require.True(t, ok)
	require.Equal(t, toolchain.Tool{
		Name: "pulumi", Kind: toolchain.CLI, Version: "v3.260.1", Origin: toolchain.Official,
		Path: cli.Path, Installed: true,
	}, cli)
	require.Equal(t, filepath.Dir(filepath.Dir(cli.Path)), cli.Root())
	for _, plugin := range installed.Tools[1:] {
		require.Equal(t, toolchain.Official, plugin.Origin, plugin.Name)
		out, err := exec.Command(plugin.Path).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, "official\n", string(out))
	}
	home := t.TempDir()
	require.NoError(t, installed.Populate(home))
	require.FileExists(t, filepath.Join(home, "plugins/resource-command-v1.2.1/LICENSE"))

	require.Equal(t, installed, install(t, opts))
	text, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Equal(t, "version\n"+
		"plugin install resource proxmoxve v6.18.1 --non-interactive "+
		"--server github://api.github.com/muhlba91/pulumi-proxmoxve\n"+
		"plugin install resource talos v0.7.1 --non-interactive --server github://api.github.com/pulumiverse\n"+
		"plugin install resource command v1.2.1 --non-interactive\n"+
		"plugin install resource kubernetes v4.30.0 --non-interactive\n", string(text), "each call is made once")
}

func TestPluginThatCannotBeInstalledIsBuilt(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	machine, _ := online(t, "v3.254.0", "talos")
	opts = opts.With(machine)
	progress := &log{}
	opts.Progress = progress
	installed := install(t, opts)
	require.Equal(t, toolchain.Official, tool(t, installed, "proxmoxve").Origin)
	require.Equal(t, toolchain.Built, tool(t, installed, "talos").Origin)
	const reason = "pulumi plugin install: exit status 255: error: 404 HTTP error fetching plugin"
	require.Equal(t, reason, tool(t, installed, "talos").Reason)
	require.Contains(t, progress.lines(), "the official talos v0.7.1 cannot be had: "+reason)
}

func TestCLIThatDoesNotFitIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v3.253.9", "v4.0.0", "rubbish"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			opts := checkout(t)
			machine, _ := online(t, version, "nothing")
			cli, ok := install(t, opts.With(machine)).CLI()
			require.True(t, ok)
			require.Equal(t, toolchain.Built, cli.Origin)
			require.Equal(t, "v3.254.0", cli.Version)
		})
	}
}

func TestNoCLIFits(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	path := filepath.Join(opts.Source, "tools/cli/go.mod")
	write(t, path, "module github.com/em-infra/em-infra/tools/cli\n\nrequire github.com/pulumi/pulumi/pkg/v3 v3.190.0\n")
	_, err := toolchain.Install(t.Context(), opts)
	require.EqualError(t, err, "the program asks for Pulumi v3.254.0, and tools/cli builds v3.190.0: "+
		"put a pulumi of that version on PATH")
}

func TestRetryAsksForTheOfficialPluginsAgain(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"pulumi", "command"}
	require.Equal(t, toolchain.StandIn, tool(t, install(t, opts), "command").Origin)

	machine, _ := online(t, "v3.254.0", "nothing")
	opts = opts.With(machine)
	require.Equal(t, toolchain.StandIn, tool(t, install(t, opts), "command").Origin, "an existing build is used")
	opts.Retry = true
	require.Equal(t, toolchain.Official, tool(t, install(t, opts), "command").Origin)

	opts.Retry = false
	machine.Probe = func(context.Context, string) error { return errors.New("offline again") }
	require.Equal(t, toolchain.Official, tool(t, install(t, opts.With(machine)), "command").Origin)
}

func TestRetryKeepsWhatIsThereWhenNothingBetterCanBeHad(t *testing.T) {
	t.Parallel()
	opts := checkout(t)
	opts.Names = []string{"command"}
	before := install(t, opts)
	opts.Retry = true
	progress := &log{}
	opts.Progress = progress
	require.Equal(t, before, install(t, opts))
	require.Equal(t, []string{"official plugins cannot be had from get.pulumi.com (no network here)"}, progress.lines())
}
