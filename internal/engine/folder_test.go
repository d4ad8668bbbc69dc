package engine_test

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// sealer seals as the CLI does; salt is the text with the salt that the state and the stack's file keep.
type sealer struct {
	config.Encrypter
	t    *testing.T
	salt string
}

func newSealer(t *testing.T, phrase string) sealer {
	t.Helper()
	salt := []byte(rand.Text()[:8])
	s := sealer{Encrypter: config.NewSymmetricCrypterFromPassphrase(phrase, salt), t: t}
	s.salt = "v1:" + base64.StdEncoding.EncodeToString(salt) + ":" + s.seal("pulumi")
	return s
}

func (s sealer) seal(text string) string {
	s.t.Helper()
	sealed, err := s.EncryptValue(s.t.Context(), text)
	require.NoError(s.t, err)
	return sealed
}

// folder returns a state in a folder. Its CLI keeps another state, so that the result shows which of the two was read.
func folder(t *testing.T, phrase string) (state engine.State, root string) {
	t.Helper()
	state, _ = stateOf(t, `{"version": 3, "deployment": {"resources": [{"urn": "urn:pulumi:k3s-dev::em-infra::of:the:CLI::x", "type": "of:the:CLI"}]}}`)
	root = t.TempDir()
	passphrase := filepath.Join(t.TempDir(), "passphrase")
	write(t, passphrase, phrase+"\n")
	maps.Copy(state.Env, map[string]string{"PULUMI_BACKEND_URL": "file://" + root, "PULUMI_CONFIG_PASSPHRASE_FILE": passphrase})
	state.Project, state.Passphrase = "em-infra", engine.PassphraseIn(state.Env)
	return state, root
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

func checkpointIn(root string) string {
	return filepath.Join(root, ".pulumi", "stacks", "em-infra", "k3s-dev.json")
}

// checkpoint returns a state with a secret that holds another one, as the engine writes it.
func checkpoint(s sealer) string {
	sealed := s.seal(`{"inner":{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"\"deep\""}}`)
	return `{"version":4,"features":["hooks"],"checkpoint":{"stack":"organization/em-infra/k3s-dev","latest":{` +
		`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"m","version":"v3.254.0"},` +
		`"secrets_providers":{"type":"passphrase","state":{"salt":"` + s.salt + `"}},` +
		`"resources":[{"urn":"urn:pulumi:k3s-dev::em-infra::a:b:C::d","custom":true,"type":"a:b:C","inputs":{"open":"a < b"},` +
		`"outputs":{"list":[{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","ciphertext":"` + sealed + `"}]}}],"metadata":{}}}}`
}

func TestStateInAFolderIsReadWithoutTheCLI(t *testing.T) {
	t.Parallel()
	state, root := folder(t, "open sesame")
	write(t, checkpointIn(root), checkpoint(newSealer(t, "open sesame")))

	exported, err := state.Export(t.Context())
	require.NoError(t, err)
	require.Len(t, exported.Deployment.Resources, 1)
	read := exported.Deployment.Resources[0]
	require.EqualValues(t, "a:b:C", read.Type)
	plain, err := propertymap.Unseal(read.Outputs)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"list": []any{map[string]any{"inner": "deep"}}}, plain)

	read.Outputs["list"] = "changed"
	again, err := exported.Copy()
	require.NoError(t, err)
	require.NotEqual(t, "changed", again.Deployment.Resources[0].Outputs["list"], "a copy is as it was read")

	sealed, err := state.ExportSealed(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "deep")
	require.Contains(t, string(sealed), `"open": "a < b"`)
	kept, err := state.Read(sealed)
	require.NoError(t, err)
	require.Contains(t, kept.Deployment.Resources[0].Outputs["list"].([]any)[0], "ciphertext")
}

// What cannot be read without the CLI is read by it, or the CLI reports why it cannot be read.
func TestStateIsLeftToTheCLI(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		set  func(t *testing.T, state *engine.State, root string)
	}{
		{"in a bucket", func(_ *testing.T, state *engine.State, _ string) { state.Env["PULUMI_BACKEND_URL"] = "s3://bucket" }},
		{"relative folder", func(_ *testing.T, state *engine.State, _ string) { state.Env["PULUMI_BACKEND_URL"] = "file://./.state" }},
		{"not there", func(t *testing.T, _ *engine.State, root string) { require.NoError(t, os.Remove(checkpointIn(root))) }},
		{"torn", func(t *testing.T, _ *engine.State, root string) { write(t, checkpointIn(root), `{"version":4,"checkp`) }},
		{"old format", func(t *testing.T, _ *engine.State, root string) {
			write(t, checkpointIn(root), `{"version":2,"checkpoint":{}}`)
		}},
		{"newer format", func(t *testing.T, _ *engine.State, root string) {
			write(t, checkpointIn(root), `{"version":5,"checkpoint":{}}`)
		}},
		{"never brought up", func(t *testing.T, _ *engine.State, root string) {
			write(t, checkpointIn(root), `{"version":3,"checkpoint":{}}`)
		}},
		{"other passphrase", func(t *testing.T, _ *engine.State, root string) {
			write(t, checkpointIn(root), checkpoint(newSealer(t, "another")))
		}},
		{"no passphrase", func(_ *testing.T, state *engine.State, _ string) { state.Passphrase = nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			state, root := folder(t, "open sesame")
			write(t, checkpointIn(root), checkpoint(newSealer(t, "open sesame")))
			test.set(t, &state, root)
			exported, err := state.Export(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, "of:the:CLI", exported.Deployment.Resources[0].Type)
		})
	}
}

func TestConfigIsReadWithoutTheCLI(t *testing.T) {
	t.Parallel()
	state, _ := folder(t, "open sesame")
	s := newSealer(t, "open sesame")
	write(t, filepath.Join(state.Dir, "Pulumi.yaml"), "name: em-infra\nruntime: go\nconfig:\n"+
		"  pulumi:disable-default-providers: {value: [\"*\"]}\n  em-infra:proxmoxInsecure: {type: boolean, default: false}\n"+
		"  em-infra:imageFactoryUrl: {type: string, default: https://factory.talos.dev}\n  em-infra:bare: {type: string}\n")
	file := filepath.Join(state.Dir, "Pulumi.k3s-dev.yaml")
	write(t, file, "encryptionsalt: "+s.salt+"\nconfig:\n  em-infra:proxmoxInsecure: true\n  em-infra:proxmoxToken:\n    secure: "+s.seal("secret")+"\n")

	values, read := state.Config()
	require.True(t, read)
	require.Equal(t, auto.ConfigMap{
		"pulumi:disable-default-providers": {Value: `["*"]`},
		"em-infra:imageFactoryUrl":         {Value: "https://factory.talos.dev"},
		"em-infra:proxmoxInsecure":         {Value: "true"},
		"em-infra:proxmoxToken":            {Value: "secret", Secret: true},
	}, values)

	for name, text := range map[string]string{
		"damaged":          "config: [",
		"key in a service": "secretsprovider: awskms://alias/x\nencryptedkey: abc\nconfig:\n  em-infra:proxmoxToken:\n    secure: abc\n",
		"other passphrase": "encryptionsalt: " + newSealer(t, "another").salt + "\nconfig:\n  em-infra:proxmoxToken:\n    secure: " + s.seal("x") + "\n",
		"environment":      "environment: [shared]\nconfig: {}\n",
	} {
		write(t, file, text)
		_, read := state.Config()
		require.False(t, read, name)
	}
}

func TestConfigIsWrittenWithoutTheCLI(t *testing.T) {
	t.Parallel()
	state, _ := folder(t, "open sesame")
	s := newSealer(t, "open sesame")
	write(t, filepath.Join(state.Dir, "Pulumi.yaml"), "name: em-infra\nruntime: go\n")
	file := filepath.Join(state.Dir, "Pulumi.k3s-dev.yaml")
	write(t, file, "# mine\nencryptionsalt: "+s.salt+"\nconfig:\n  em-infra:kept: here\n")
	wanted := auto.ConfigMap{
		"em-infra:proxmoxInsecure": {Value: "true"},
		"em-infra:proxmoxToken":    {Value: "secret", Secret: true},
	}
	require.NoError(t, state.SetConfig(t.Context(), wanted))

	values, read := state.Config()
	require.True(t, read)
	wanted["em-infra:kept"] = auto.ConfigValue{Value: "here"}
	require.Equal(t, wanted, values)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "secret\n")
	require.Contains(t, string(text), "# mine\n")

	require.NoError(t, state.SetConfig(t.Context(), nil, "em-infra:proxmoxToken", "em-infra:absent"))
	values, read = state.Config()
	require.True(t, read)
	require.Equal(t, auto.ConfigMap{"em-infra:proxmoxInsecure": {Value: "true"}, "em-infra:kept": {Value: "here"}}, values)

	write(t, file, "config:\n  em-infra:kept: here\n")
	require.NoError(t, state.SetConfig(t.Context(), wanted), "a killed `pulumi stack init` has made no salt")
	values, read = state.Config()
	require.True(t, read)
	require.Equal(t, wanted, values)

	write(t, file, "encryptionsalt: "+newSealer(t, "another").salt+"\n")
	require.EqualError(t, state.SetConfig(t.Context(), wanted),
		file+": its encryptionsalt was not made with the passphrase of this stack: delete the file, then run the command again")
}

func TestLastUpdateIsTheNewest(t *testing.T) {
	t.Parallel()
	state, root := folder(t, "")
	history := filepath.Join(root, ".pulumi", "history", "em-infra", "k3s-dev", "k3s-dev-")
	write(t, history+"1795360474993726519.history.json", `{"kind":"update","result":"failed","endTime":1795360474}`)
	write(t, history+"1795360519759207028.history.json", `{"kind":"destroy","result":"succeeded","endTime":1795360519}`)
	write(t, history+"1795360519759207028.history.json.attrs", `{}`)
	write(t, history+"1795360519759207028.checkpoint.json", `{}`)
	last, err := state.LastUpdate(t.Context())
	require.NoError(t, err)
	require.Equal(t, &engine.Update{Kind: "destroy", Result: "succeeded", Ended: time.Unix(1795360519, 0).UTC()}, last)
}

func TestLastUpdateOfTheCLI(t *testing.T) {
	t.Parallel()
	state := engine.State{Command: cli(t), Dir: t.TempDir(), Stack: "k3s-dev", Env: map[string]string{roleVariable: "historian"}}
	last, err := state.LastUpdate(t.Context())
	require.NoError(t, err)
	require.Equal(t, &engine.Update{Kind: "update", Result: "succeeded", Ended: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, last)
}

func TestAutomationStartsNoProcessForNothing(t *testing.T) {
	t.Parallel()
	state, root := folder(t, "")
	run := func(args ...string) string {
		stdout, _, code, err := state.Automation().Run(t.Context(), state.Dir, nil, nil, nil, role("report"), args...)
		require.NoError(t, err)
		require.Zero(t, code)
		return stdout
	}
	asked := func(answer string) bool { return strings.Contains(answer, `"Args"`) }
	require.True(t, asked(run("stack", "select", "--stack", "k3s-dev")), "it says that there is none")
	write(t, checkpointIn(root), `{}`)
	require.Empty(t, run("stack", "select", "--stack", "k3s-dev"))
	require.Equal(t, "{}", run("stack", "output", "--json", "--stack", "k3s-dev"))
	require.Equal(t, "[]", run("stack", "history", "--json", "--stack", "k3s-dev"))
	require.True(t, asked(run("preview")))
	require.Equal(t, state.Command.Version(), state.Automation().Version())
}
