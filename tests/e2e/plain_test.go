package e2e_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// plainEngine returns the rehearsal's stack under the Automation API alone, without anything that em-infra does around it.
func (r *rehearsal) plainEngine() auto.Stack {
	r.t.Helper()
	return r.plainEngineWith(stacks.Options{})
}

// plainEngineWith is plainEngine with options for the program.
func (r *rehearsal) plainEngineWith(options stacks.Options) auto.Stack {
	r.t.Helper()
	tools, err := toolchain.Install(r.t.Context(), toolchain.Options{Source: projectRoot(r.t)})
	require.NoError(r.t, err)
	tool, found := tools.CLI()
	require.True(r.t, found)
	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: tool.Root()})
	require.NoError(r.t, err)

	w, err := workspace.Rehearsal(r.root, r.stack, r.inventory)
	require.NoError(r.t, err)
	options.Root, options.Inventory = w.Root, w.Inventory
	env := w.Environment()
	for name, value := range tools.Environment(w.Home) {
		env[name] = value
	}
	// As in the shells of `tools env` and `lab env`: without it, a plugin and the Commands of em-infra are compiled first.
	env["EM_INFRA"], err = workshop.Tool()
	require.NoError(r.t, err)
	options.Env, options.Snapshots = env, w.Snapshots()
	stack, err := stacks.Select(r.t.Context(), stacks.Embedding{
		Stack:   r.stack,
		WorkDir: w.Dir,
		Env:     env,
		Command: command,
		Program: stacks.Program(options),
	})
	require.NoError(r.t, err)
	return stack
}

// killPlugins kills the plugins of the rehearsal that outlived their engine.
func (r *rehearsal) killPlugins() {
	r.t.Helper()
	for _, pid := range r.plugins() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			require.NoError(r.t, err)
		}
	}
}

// plugins returns the processes that run from the rehearsal's PULUMI_HOME.
func (r *rehearsal) plugins() []int {
	r.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(r.t, err)
	var pids []int
	for _, line := range lines {
		text, err := os.ReadFile(line)
		if err != nil || !strings.HasPrefix(string(text), filepath.Join(r.dir(), "pulumi-home")) {
			continue // it has ended, or is not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		require.NoError(r.t, err)
		pids = append(pids, pid)
	}
	return pids
}
