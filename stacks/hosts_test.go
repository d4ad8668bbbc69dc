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
	environment := func(name, variable string) string {
		return r.Named(t, "command:local:Command", name).Inputs["environment"].ObjectValue()[resource.PropertyKey(variable)].StringValue()
	}
	require.JSONEq(t, `{"node": "vmhost", "timeZone": "Europe/Berlin", "names": [{"address": "10.30.0.5", "names": ["nas.home.example", "nas"]}],
		"repositories": [{"handle": "no-subscription", "enabled": true}, {"handle": "enterprise", "enabled": false}]}`,
		environment("site-settings-vmhost", "EM_INFRA_HOST_SETTINGS"))
	require.JSONEq(t, `[{"name": "keyboard", "value": "de"}]`, environment("site-options", "EM_INFRA_HOST_OPTIONS"))
	require.JSONEq(t, `{"kind": "backup job", "id": "nightly", "settings": [
		{"name": "schedule", "value": "02:30"}, {"name": "storage", "value": "nas"}, {"name": "mode", "value": "snapshot"},
		{"name": "compress", "value": "zstd"}, {"name": "enabled", "value": "1"}, {"name": "pool", "value": "k3s-dev"}, {"name": "vmid", "value": ""},
		{"name": "exclude", "value": ""},
		{"name": "prune-backups", "value": "keep-last=3,keep-weekly=4"}
	]}`, environment("site-backup-nightly", "EM_INFRA_HOST_DEFINITION"))
	for key := range r.Resources {
		require.NotContains(t, key, "talos")
	}
}

// TestAPasswordOfAStorage comes from the environment, the configuration or the file, and stays a secret; the error of a missing one names its
// place.
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

// TestEverySettingOfHostsIsMapped: the inventory with all of them, by their names in Proxmox VE.
func TestEverySettingOfHostsIsMapped(t *testing.T) {
	t.Parallel()
	inv, err := hosts.Load(filepath.Join("..", "internal", "inventory", "hosts", "testdata", "valid-settings"))
	require.NoError(t, err)
	options, _ := stacks.HostOptions(inv)
	require.Equal(t, []string{
		"keyboard: de", "console: xtermjs", "email_from: pve@home.example", "http_proxy: http://proxy.home.example:3128", "mac_prefix: BC:24:11",
		"max_workers: 2", "migration: type=secure,network=10.30.0.0/24", "ha: shutdown_policy=migrate", "next-id: lower=1000,upper=1000000",
		"bwlimit: clone=102400,default=0",
	}, options.Words())
	definitions, names := stacks.HostDefinitions(inv)
	require.Equal(t, []string{"site-metrics-graphs", "site-metrics-old", "site-metrics-otel", "site-backup-nightly", "site-backup-weekly"}, names)
	require.Equal(t, []string{
		"type: influxdb", "server: metrics.home.example", "port: 8086", "disable: 0", "influxdbproto: https", "organization: home", "bucket: proxmox",
		"verify-certificate: 1",
	}, definitions[0].Words())
	require.Equal(t, []string{"type: graphite", "server: 192.168.20.7", "port: 2003", "disable: 1", "proto: udp", "path: proxmox"}, definitions[1].Words())
	require.Equal(t, []string{"type: opentelemetry", "server: 192.168.20.8", "port: 4318", "disable: 0", "otel-protocol: http", "otel-verify-ssl: 1"}, definitions[2].Words())
	require.Equal(t, []string{
		"schedule: sat 03:00", "storage: nas", "mode: stop", "compress: 0", "enabled: 0", "exclude: 900", "node: vmhost2", "all: 1",
	}, definitions[4].Words())
	require.Equal(t, []string{"metricServers.graphs.token"}, stacks.HostSecretPaths(inv), "the others take none")
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
