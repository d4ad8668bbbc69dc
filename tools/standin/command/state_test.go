package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	state := map[string]any{
		"create": "echo a", "environment": map[string]any{"A": "1"}, "triggers": []any{"x"}, "stdout": "a", "stderr": "",
	}
	inputs := func(changed map[string]any) resource.PropertyMap {
		all := map[string]any{"create": "echo a", "environment": map[string]any{"A": "1"}, "triggers": []any{"x"}}
		for key, value := range changed {
			all[key] = value
		}
		return props(all)
	}
	for name, tc := range map[string]struct {
		changed map[string]any
		changes pulumirpc.DiffResponse_DiffChanges
		detail  map[string]pulumirpc.PropertyDiff_Kind
	}{
		"nothing": {changes: pulumirpc.DiffResponse_DIFF_NONE},
		"the command updates": {
			map[string]any{"create": "echo b"},
			pulumirpc.DiffResponse_DIFF_SOME,
			map[string]pulumirpc.PropertyDiff_Kind{"create": pulumirpc.PropertyDiff_UPDATE},
		},
		"the delete command updates": {
			map[string]any{"delete": "true"},
			pulumirpc.DiffResponse_DIFF_SOME,
			map[string]pulumirpc.PropertyDiff_Kind{"delete": pulumirpc.PropertyDiff_ADD},
		},
		"the environment updates": {
			map[string]any{"environment": map[string]any{"A": "2"}},
			pulumirpc.DiffResponse_DIFF_SOME,
			map[string]pulumirpc.PropertyDiff_Kind{"environment.A": pulumirpc.PropertyDiff_UPDATE},
		},
		// The SDK asks the engine to replace on "triggers[*]". The provider reports a changed trigger as an update.
		"a trigger is seen": {
			map[string]any{"triggers": []any{"y"}},
			pulumirpc.DiffResponse_DIFF_SOME,
			map[string]pulumirpc.PropertyDiff_Kind{"triggers[0]": pulumirpc.PropertyDiff_UPDATE},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			got, err := h.Diff(t.Context(), &pulumirpc.DiffRequest{
				Id: "probe", Urn: urn, Olds: h.marshal(props(state)), News: h.marshal(inputs(tc.changed)),
			})
			require.NoError(t, err)
			require.Equal(t, tc.changes, got.GetChanges())
			detail := map[string]pulumirpc.PropertyDiff_Kind{}
			for path, diff := range got.GetDetailedDiff() {
				detail[path] = diff.GetKind()
			}
			require.Len(t, detail, len(tc.detail))
			for path, kind := range tc.detail {
				require.Equal(t, kind, detail[path], path)
			}
		})
	}
}

func TestLogging(t *testing.T) {
	t.Parallel()
	for logging, want := range map[string][]string{
		"":                {"out", "end", "err"},
		"stdoutAndStderr": {"out", "end", "err"},
		"stdout":          {"out", "end"},
		"stderr":          {"err"},
		"none":            {},
	} {
		t.Run(logging, func(t *testing.T) {
			t.Parallel()
			h := start(t)
			inputs := map[string]any{"create": "echo out; echo err >&2; printf end"}
			if logging != "" {
				inputs["logging"] = logging
			}
			outputs := h.mustCreate(props(inputs))
			require.Equal(t, "out\nend", outputs["stdout"].StringValue(), "logging does not change the outputs")
			require.Equal(t, "err", outputs["stderr"].StringValue())

			lines := []string{}
			for _, entry := range h.engine.Logs() {
				require.True(t, entry.GetEphemeral(), "a line is shown while it is the latest")
				require.Equal(t, urn, entry.GetUrn())
				lines = append(lines, entry.GetMessage())
			}
			require.ElementsMatch(t, want, lines)
		})
	}
}

func TestLoggingRefusesAnUnknownValue(t *testing.T) {
	t.Parallel()
	h := start(t)
	got, err := h.Check(t.Context(), &pulumirpc.CheckRequest{
		Urn: urn, News: h.marshal(props(map[string]any{"create": "true", "logging": []any{"stdout"}})),
	})
	require.NoError(t, err)
	require.Len(t, got.GetFailures(), 1)
	require.Equal(t, "logging", got.GetFailures()[0].GetProperty())
}

// TestSecrets: an output that is also an input is secret if the input is. Stdout and stderr are secret if the program sets
// additionalSecretOutputs, which the engine applies.
func TestSecrets(t *testing.T) {
	t.Parallel()
	inputs := props(map[string]any{"create": "echo $TOKEN", "dir": "/"})
	inputs["environment"] = resource.NewProperty(resource.PropertyMap{
		"TOKEN": resource.MakeSecret(resource.NewProperty("hush")),
	})
	inputs["stdin"] = resource.MakeSecret(resource.NewProperty("hush"))
	outputs := start(t).mustCreate(inputs)

	require.True(t, outputs["environment"].ContainsSecrets())
	require.True(t, outputs["stdin"].IsSecret())
	for _, public := range []resource.PropertyKey{"create", "dir", "stdout", "stderr"} {
		require.False(t, outputs[public].ContainsSecrets(), public)
	}
}

func TestAssetsAndArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "assets/logos"), 0o700))
	for _, file := range []string{"assets/logos/logo.svg", "assets/secret.txt", "index.js", "index.css"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(file), 0o600))
	}
	outputs := start(t).mustCreate(props(map[string]any{
		"create": "echo made > made.js", "dir": dir,
		"assetPaths":   []any{"**", "!**secret.*", "!index.css"},
		"archivePaths": []any{"*.js"},
	}))

	paths := []string{}
	for path, asset := range outputs["assets"].ObjectValue() {
		require.Equal(t, filepath.Join(dir, string(path)), asset.AssetValue().Path)
		paths = append(paths, string(path))
	}
	require.ElementsMatch(t, []string{"assets/logos/logo.svg", "index.js", "made.js"}, paths)

	members, ok := outputs["archive"].ArchiveValue().GetAssets()
	require.True(t, ok)
	require.Len(t, members, 2)
	require.Contains(t, members, "index.js")
	require.Contains(t, members, "made.js")
}
