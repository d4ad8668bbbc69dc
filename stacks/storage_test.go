package stacks_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/stacks"
)

const storageOfTheTest = "storage: {endpoint: https://nas.example, pool: tank, datasets: [{name: k8s}]%s}\n"

// withStorage returns the stack's inventory with a storage that has more keys.
func withStorage(t *testing.T, keys string) *inventory.Inventory {
	t.Helper()
	const last = "  gpu-worker: {cores: 8, memoryMiB: 32768, diskGiB: 256}\n"
	inv, err := inventory.Load(edited(t, "cluster.yaml", last, last+strings.ReplaceAll(storageOfTheTest, "%s", keys)))
	require.NoError(t, err)
	return inv
}

// accessTo returns what the access to the box is with a configuration and with what the file beside the inventory has.
func accessTo(t *testing.T, inv *inventory.Inventory, config, file map[string]string) (stacks.StorageAccess, error) {
	t.Helper()
	return stacks.ReadStorageAccess(t.Context(), inv, "k3s-dev", func(name string) string { return config[name] },
		func(context.Context, string) (map[string]string, error) { return file, nil })
}

// TestTheKeyOfTheBoxIsFoundAsInARun in the environment, the configuration and the file, in this order.
func TestTheKeyOfTheBoxIsFoundAsInARun(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("EM_INFRA_TRUENAS_API_KEY", "")
	inv := withStorage(t, ", fingerprint: "+strings.Repeat("ab", 32)+", username: ops")
	want := stacks.StorageAccess{Endpoint: "https://nas.example", Fingerprint: strings.Repeat("ab", 32), Username: "ops", APIKey: "1-file"}
	config, file := map[string]string{}, map[string]string{"truenas.apiKey": "1-file"}
	got, err := accessTo(t, inv, config, file)
	require.NoError(t, err)
	require.Equal(t, want, got)

	config["truenasApiKey"], want.APIKey = "1-configuration", "1-configuration"
	got, err = accessTo(t, inv, config, file)
	require.NoError(t, err)
	require.Equal(t, want, got)

	t.Setenv("EM_INFRA_TRUENAS_API_KEY", "1-environment")
	got, err = accessTo(t, inv, config, file)
	require.NoError(t, err)
	require.Equal(t, "1-environment", got.APIKey)

	config["labNetwork"], config["labStorage"] = "127.20.20.0/24", "https://127.0.0.1:8443#CD"
	got, err = accessTo(t, inv, config, file)
	require.NoError(t, err)
	require.Equal(t, stacks.StorageAccess{Endpoint: "https://127.0.0.1:8443", Fingerprint: "CD", Username: "ops", APIKey: "1-configuration"}, got,
		"a rehearsal has the key of its lab, and no other")
}

// TestWhatTheAccessToTheBoxLacks is reported all at once, and a rehearsal never gets access to the real box.
func TestWhatTheAccessToTheBoxLacks(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("EM_INFRA_TRUENAS_API_KEY", "")
	refusal := func(keys string, config map[string]string, read stacks.SecretsReader) string {
		t.Helper()
		inv := withStorage(t, keys)
		_, err := stacks.ReadStorageAccess(t.Context(), inv, "k3s-dev", func(name string) string { return config[name] }, read)
		require.ErrorAs(t, err, new(*inventory.Problems))
		return strings.ReplaceAll(err.Error(), inv.Dir, "DIR")
	}
	none := func(context.Context, string) (map[string]string, error) {
		return map[string]string{"truenas.apiKey": ""}, nil
	}
	const lacks = "storage: lacks truenas.apiKey (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with " +
		"`em-infra secrets edit --stack k3s-dev`, or run `pulumi config set --secret --stack k3s-dev em-infra:truenasApiKey`\n"
	require.Contains(t, refusal("", nil, none), lacks)
	both := refusal(", caFile: nas-ca.pem", nil, none)
	require.Contains(t, both, lacks)
	require.Contains(t, both, "storage.caFile: is no file that can be read (it is looked for at DIR/nas-ca.pem; got nas-ca.pem): correct the path\n2 problems")
	sealed := func(context.Context, string) (map[string]string, error) {
		return nil, errors.New("secrets.sops.yaml cannot be opened: set SOPS_AGE_KEY_FILE")
	}
	require.Contains(t, refusal("", nil, sealed), "storage: needs secrets that cannot be read: secrets.sops.yaml cannot be opened: set SOPS_AGE_KEY_FILE\n")
	require.Contains(t, refusal("", map[string]string{"labNetwork": "127.20.20.0/24", "truenasApiKey": "1-real"}, none),
		"storage: is not in the lab (this file had none when the lab was started): run `em-infra lab stop --stack k3s-dev`, then this again\n")
}

// TestAnAuthorityIsOneInPEM wherever it lies.
func TestAnAuthorityIsOneInPEM(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("EM_INFRA_TRUENAS_API_KEY", "1-made-up")
	inv := withStorage(t, ", caFile: nas-ca.pem")
	path := filepath.Join(inv.Dir, "nas-ca.pem")
	require.NoError(t, os.WriteFile(path, []byte("-----BEGIN PRIVATE KEY-----\n"), 0o600))
	_, err := accessTo(t, inv, nil, nil)
	require.ErrorContains(t, err, "storage.caFile: holds no certificate in PEM (it is looked for at "+path+"): export it in Credentials > Certificates of TrueNAS' web interface")
	require.NoError(t, os.WriteFile(path, []byte("-----BEGIN CERTIFICATE-----\n"), 0o600))
	access, err := accessTo(t, inv, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "-----BEGIN CERTIFICATE-----\n", access.CA)
}
