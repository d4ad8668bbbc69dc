package stacks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/hosts"
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
	for key := range r.Resources {
		require.NotContains(t, key, "talos")
	}
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
