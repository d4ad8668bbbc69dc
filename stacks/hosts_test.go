package stacks_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/recorder"
	"github.com/em-infra/em-infra/stacks"
)

// TestAStackOfHosts: the kind follows from the file in the inventory's folder, and no provider but those of the host is made.
func TestAStackOfHosts(t *testing.T) {
	t.Parallel()
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: filepath.Join("stacks", "site-hosts")}, reachable(nil))
	require.NoError(t, err)
	pool := r.Named(t, "command:local:Command", "site-pool-k3s-dev")
	require.Contains(t, pool.Inputs["create"].StringValue(), " pool ensure k3s-dev")
	network := r.Named(t, "command:local:Command", "site-network-vmhost").Inputs["environment"].ObjectValue()["EM_INFRA_HOST_NETWORK"].StringValue()
	require.JSONEq(t, `{"node": "vmhost", "owner": "site", "interfaces": [
		{"name": "vmbr1", "ports": ["eno2"], "vlanAware": true, "mtu": 9000, "comment": "storage"},
		{"name": "vmbr1.30", "device": "vmbr1", "tag": 30, "address": "10.30.0.10/24"}
	]}`, network)
	storage := r.Named(t, "command:local:Command", "site-storage-nas").Inputs["environment"].ObjectValue()
	require.JSONEq(t, `{"name": "nas", "type": "nfs", "server": "10.30.0.5", "export": "/mnt/tank/proxmox", "content": ["images", "iso", "backup"]}`,
		storage["EM_INFRA_HOST_STORAGE"].StringValue())
	require.NotContains(t, storage, resource.PropertyKey("EM_INFRA_HOST_STORAGE_PASSWORD"))
	for key := range r.Resources {
		require.NotContains(t, key, "talos")
	}
}

// TestAPasswordOfAStorage comes from the environment, the configuration or the file, stays a secret, and is missed with its place.
func TestAPasswordOfAStorage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte(
		"apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\nhosts: [{name: vmhost}]\nstorages:\n"+
			"  - {name: my-backups, type: pbs, server: pbs.example, datastore: main, username: backup@pbs, content: [backup]}\n"), 0o600))
	options := stacks.Options{Root: "..", Inventory: dir, Secrets: func(context.Context, string) (map[string]string, error) { return nil, nil }}
	inv, err := hosts.Load(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"storages.my-backups.password"}, stacks.HostSecretPaths(inv))
	_, err = runWith(t, options, reachable(nil))
	require.ErrorContains(t, err, "hosts.yaml:6: storages[0]: lacks storages.my-backups.password (it is neither in secrets.sops.yaml nor in the stack's configuration): add it with ")
	require.ErrorContains(t, err, "em-infra:storagePassword.my-backups`")

	password := func(r *recorder.Recorder) resource.PropertyValue {
		return r.Named(t, "command:local:Command", "site-storage-my-backups").Inputs["environment"].ObjectValue()["EM_INFRA_HOST_STORAGE_PASSWORD"]
	}
	r, err := runWith(t, options, reachable(map[string]string{"em-infra:storagePassword.my-backups": "made up for a test"}))
	require.NoError(t, err)
	require.True(t, password(r).IsSecret())
	require.Equal(t, "made up for a test", password(r).SecretValue().Element.StringValue())

	options.Secrets = func(context.Context, string) (map[string]string, error) {
		return map[string]string{"storages.my-backups.password": "of the file"}, nil
	}
	r, err = runWith(t, options, reachable(nil))
	require.NoError(t, err)
	require.Equal(t, "of the file", password(r).SecretValue().Element.StringValue())
}

func TestAProtectedStackOfHostsIsProtectedAsAWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte(
		"apiVersion: em-infra/v1alpha1\nkind: Hosts\nname: site\nprotect: true\nhosts: [{name: vmhost}]\npools: [{name: web}]\n"), 0o600))
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: dir}, reachable(nil))
	require.NoError(t, err)
	for key, args := range r.Resources {
		require.True(t, args.RegisterRPC.GetProtect(), key)
	}
}

func TestTheProgramRefusesAnInventoryOfHostsInTheWordsOfTheLoader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), []byte("kind: Hosts\n"), 0o600))
	_, loading := hosts.Load(dir)
	require.Error(t, loading)
	r, err := runWith(t, stacks.Options{Root: "..", Inventory: dir}, reachable(nil))
	require.EqualError(t, err, "1 error occurred:\n\t* "+loading.Error()+"\n\n") // the SDK's own frame
	require.Empty(t, r.Resources)
}

func TestTwoKindsInOneFolderAreRefused(t *testing.T) {
	t.Parallel()
	dir := edited(t, "cluster.yaml", "protect: false", "protect: false")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hosts.yaml"), nil, 0o600))
	_, err := runWith(t, stacks.Options{Root: "..", Inventory: dir}, reachable(nil))
	require.ErrorContains(t, err, "holds the inventories of two kinds")
}
