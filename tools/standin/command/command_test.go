package command_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
)

func TestCreateRunsTheCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		inputs         map[string]any
		stdout, stderr string
	}{
		"both streams, without the last line break": {
			inputs: map[string]any{"create": "echo one; echo; echo two >&2"}, stdout: "one\n", stderr: "two",
		},
		"no command": {inputs: map[string]any{"delete": "exit 1"}},
		"environment on top of the plugin's own": {
			inputs: map[string]any{
				"create":      `echo "$GREETING" "${PATH:+with path}"`,
				"environment": map[string]any{"GREETING": "hello"},
			},
			stdout: "hello with path",
		},
		"stdin":              {inputs: map[string]any{"create": "cat", "stdin": "in\n"}, stdout: "in"},
		"stdin is empty":     {inputs: map[string]any{"create": "cat"}},
		"dir":                {inputs: map[string]any{"create": "pwd -P", "dir": dir}, stdout: realPath(t, dir)},
		"interpreter":        {inputs: map[string]any{"create": "x", "interpreter": []any{"printf", "<%s>"}}, stdout: "<x>"},
		"interpreter, empty": {inputs: map[string]any{"create": "echo $((1+1))", "interpreter": []any{}}, stdout: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := start(t).mustCreate(props(tc.inputs))
			require.Equal(t, tc.stdout, got["stdout"].StringValue())
			require.Equal(t, tc.stderr, got["stderr"].StringValue())
			for key, value := range props(tc.inputs) {
				require.Equal(t, value, got[key], "inputs are outputs too")
			}
		})
	}
}

func realPath(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return real
}

func TestPreviewRunsNothing(t *testing.T) {
	t.Parallel()
	h := start(t)
	mark := filepath.Join(t.TempDir(), "mark")
	inputs := props(map[string]any{"create": "touch " + mark, "update": "touch " + mark})

	created, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn, Properties: h.marshal(inputs), Preview: true,
	})
	require.NoError(t, err)
	require.True(t, h.unmarshal(created.GetProperties())["stdout"].IsComputed(), "stdout is not known in a preview")

	state := inputs.Copy()
	state["stdout"], state["stderr"] = resource.NewProperty("old"), resource.NewProperty("")
	changed := inputs.Copy()
	changed["update"] = resource.NewProperty("touch -c " + mark)
	updated, err := h.Update(t.Context(), &pulumirpc.UpdateRequest{
		Id: "probe", Urn: urn, Olds: h.marshal(state), News: h.marshal(changed), Preview: true,
	})
	require.NoError(t, err)
	require.True(t, h.unmarshal(updated.GetProperties())["stdout"].IsComputed(), "stdout is not known in a preview")
	require.NoFileExists(t, mark)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	state := props(map[string]any{"create": "echo made", "stdout": "before", "stderr": "warned"})
	for name, tc := range map[string]struct {
		inputs         map[string]any
		stdout, stderr string
	}{
		"its own command":       {map[string]any{"create": "echo made", "update": "echo changed"}, "changed", ""},
		"create where it lacks": {map[string]any{"create": "echo made anew"}, "made anew", ""},
		"no command":            {map[string]any{"delete": "true"}, "before", "warned"},
		"previous output": {
			map[string]any{"update": `echo "$PULUMI_COMMAND_STDOUT, $PULUMI_COMMAND_STDERR"`}, "before, warned", "",
		},
		"previous output not wanted": {
			map[string]any{"update": `echo "[$PULUMI_COMMAND_STDOUT]"`, "addPreviousOutputInEnv": false}, "[]", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := start(t).update(state, props(tc.inputs))
			require.NoError(t, err)
			require.Equal(t, tc.stdout, got["stdout"].StringValue())
			require.Equal(t, tc.stderr, got["stderr"].StringValue())
		})
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := start(t)
	gone := filepath.Join(t.TempDir(), "gone")
	state := h.mustCreate(props(map[string]any{
		"create": "echo 42", "delete": `echo "$PULUMI_COMMAND_STDOUT$X" > ` + gone, "environment": map[string]any{"X": "!"},
	}))
	require.NoError(t, h.delete(state))
	text, err := os.ReadFile(gone)
	require.NoError(t, err)
	require.Equal(t, "42!\n", string(text))

	require.NoError(t, h.delete(props(map[string]any{"create": "exit 1", "stdout": "", "stderr": ""})))
}

func TestFailureCarriesExitStatusCommandAndOutput(t *testing.T) {
	t.Parallel()
	h := start(t)
	const failing = `echo "no disk"; exit 3`
	const text = "exit status 3: running \"echo \\\"no disk\\\"; exit 3\":\nno disk\n"

	_, err := h.create(props(map[string]any{"create": failing}))
	require.EqualError(t, err, text)
	_, err = h.update(props(map[string]any{"stdout": "", "stderr": ""}), props(map[string]any{"update": failing}))
	require.EqualError(t, err, text)
	require.EqualError(t, h.delete(props(map[string]any{"delete": failing, "stdout": "", "stderr": ""})), text)

	_, err = h.create(props(map[string]any{"create": "true", "dir": "/nowhere"}))
	require.EqualError(t, err, "chdir /nowhere: no such file or directory: running \"true\"")
	_, err = h.create(props(map[string]any{"create": "true", "assetPaths": []any{"[a"}}))
	require.ErrorContains(t, err, `collect assetPaths: "[a" is no glob: `)
}

func TestCancelKillsTheWholeProcessGroup(t *testing.T) {
	t.Parallel()
	h := start(t)
	pids := filepath.Join(t.TempDir(), "pids")
	failed := make(chan error, 1)
	go func() {
		_, err := h.create(props(map[string]any{"create": "sleep 300 & echo $! > " + pids + "; echo going; wait"}))
		failed <- err
	}()
	var child int
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(pids)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		child, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	}, time.Minute, 5*time.Millisecond)

	_, err := h.Cancel(t.Context(), nil)
	require.NoError(t, err)
	require.ErrorContains(t, <-failed, "signal: killed: running ")
	require.Eventually(t, func() bool {
		process, err := os.FindProcess(child)
		return err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	}, time.Minute, 5*time.Millisecond, "the command's child is still there")
}
