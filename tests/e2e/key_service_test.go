package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/toolchain"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

const keyService = "hashivault://k3s-dev"

// vault answers as the transit engine of HashiCorp Vault, whose key is the word vault:v1 here.
func vault(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked, data map[string]string
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch {
		case r.Header.Get("X-Vault-Token") != "of-the-test":
			http.Error(w, `{"errors": ["permission denied"]}`, http.StatusForbidden)
			return
		case r.URL.Path == "/v1/transit/encrypt/k3s-dev":
			data = map[string]string{"ciphertext": "vault:v1:" + asked["plaintext"]}
		case r.URL.Path == "/v1/transit/decrypt/k3s-dev":
			data = map[string]string{"plaintext": strings.TrimPrefix(asked["ciphertext"], "vault:v1:")}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	return server
}

// sealedByService returns the state of a stack whose file names the service, and in whose environment there is no passphrase.
func sealedByService(t *testing.T, url string) engine.State {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	tools, err := toolchain.Install(t.Context(), toolchain.Options{Source: root, Rehearsal: true})
	require.NoError(t, err)
	tool, found := tools.CLI()
	require.True(t, found)
	home, dir := t.TempDir(), t.TempDir()
	require.NoError(t, tools.Populate(home))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.yaml"), []byte("name: em-infra\nruntime: go\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Pulumi.k3s-dev.yaml"), []byte("secretsprovider: "+keyService+"\n"), 0o600))
	return engine.State{
		Command: engine.NewCommand(tool.Path, semver.MustParse("3.254.0")), Dir: dir, Project: workspace.Project, Stack: "k3s-dev", SecretsProvider: keyService,
		Env: map[string]string{
			"PULUMI_STACK": "k3s-dev", "PULUMI_HOME": home, "PULUMI_BACKEND_URL": "file://" + t.TempDir(), "PULUMI_SKIP_UPDATE_CHECK": "true",
			"PULUMI_CONFIG_PASSPHRASE_FILE": filepath.Join(dir, "none"), "VAULT_SERVER_URL": url, "VAULT_SERVER_TOKEN": "of-the-test",
		},
	}
}

// TestE2EKeyService: a stack whose file names a key service lives without a passphrase from its creation to a restore, with the CLI itself.
func TestE2EKeyService(t *testing.T) {
	t.Parallel()
	extended(t)
	if testing.Short() {
		t.Skip("end to end: builds the tool chain, which takes minutes")
	}
	of := sealedByService(t, vault(t).URL)
	stack, err := stacks.Upsert(t.Context(), stacks.Embedding{
		Stack: of.Stack, WorkDir: of.Dir, Env: of.Env, Command: of.Automation(), SecretsProvider: of.SecretsProvider,
		Program: func(ctx *pulumi.Context) error {
			ctx.Export("kubeconfig", pulumi.ToSecret(pulumi.String("correct horse")))
			return nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, stack.SetConfig(t.Context(), "em-infra:proxmoxToken", auto.ConfigValue{Value: "battery staple", Secret: true}))
	_, err = stack.Up(t.Context())
	require.NoError(t, err)

	file, err := os.ReadFile(filepath.Join(of.Dir, "Pulumi.k3s-dev.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(file), "secretsprovider: "+keyService+"\nencryptedkey: ")
	require.NotContains(t, string(file), "battery staple")
	values, err := stack.GetAllConfig(t.Context())
	require.NoError(t, err)
	require.Equal(t, "battery staple", values["em-infra:proxmoxToken"].Value)

	sealed, err := of.ExportSealed(t.Context())
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "correct horse")
	backup, err := of.Read(sealed)
	require.NoError(t, err)
	service, err := backup.KeyService()
	require.NoError(t, err)
	require.Equal(t, keyService, service)

	require.NoError(t, of.Remove(t.Context()))
	require.NoError(t, of.Create(t.Context()))
	require.NoError(t, of.Import(t.Context(), backup))
	restored, err := of.Export(t.Context())
	require.NoError(t, err)
	require.Contains(t, jsonOf(t, restored.Deployment), "correct horse")
}
