package kitcheck_test

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"filippo.io/age"
	talossecrets "github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// running returns a cluster of one control plane that runs, its secrets and its address.
func running(t *testing.T) (cluster, netip.Addr) {
	t.Helper()
	c := talostest.NewCluster(t, "v1.12.4", "1.35.4", talos.Config{})
	c.Join(talostest.First, "k3s-dev-control-1", machine.TypeControlPlane)
	return clusterOf(t, func() (*talossecrets.Bundle, error) { return c.Secrets(), nil }), c.Address(talostest.First)
}

// sound are the checks of a kit that fits a cluster with one control plane.
func sound(t *testing.T, c cluster, address netip.Addr) []string {
	t.Helper()
	ca, err := c.bundle.CA()
	require.NoError(t, err)
	return []string{
		"ok it opens: made 2026-11-20 22:15 UTC of Talos v1.12.4 and Kubernetes v1.35.4",
		"ok the machine secrets are complete; their CA has SHA-256 " + ca[:12] + "…",
		"ok the inventory is valid and has 3 nodes",
		"ok it is the inventory of the stack",
		"ok the state opens, has the same machine secrets and 1 resources",
		"ok the snapshot of etcd of 2026-11-20 22:15 UTC is sound: revision 544",
		"ok the machine secrets are those in the state of the stack",
		"ok the talosconfig of the kit opens the Talos API at " + address.String(),
	}
}

const makeNew = ": make a new one with `em-infra kit create`"

// TestAKitIsComparedWithTheNodes: one of the cluster, one of another cluster under the address, and one that is off.
func TestAKitIsComparedWithTheNodes(t *testing.T) {
	t.Parallel()
	own, address := running(t)
	require.Equal(t, sound(t, own, address), newKit(t, own, address).lines())

	other := clusterOf(t, theirs)
	want := append(sound(t, other, address)[:7], "fail the Talos API at "+address.String()+" does not belong to the CA of the kit"+makeNew)
	require.Equal(t, want, newKit(t, other, address).lines())

	off := talostest.FreeAddress(t, 9)
	lines := newKit(t, own, off, address).lines()
	require.Len(t, lines, 9)
	require.Regexp(t, `^warn not tried at `+off.String()+` \(.+\)$`, lines[7])
	require.Equal(t, sound(t, own, address), append(lines[:7], lines[8]))
}

// TestAKitThatDoesNotFit has the exact words for each reason; all other checks are sound.
func TestAKitThatDoesNotFit(t *testing.T) {
	t.Parallel()
	own, address := running(t)
	for _, test := range []struct {
		name   string
		change func(*testing.T, *kit)
		// at is the line of a sound kit that the lines of want replace; a negative value replaces two lines.
		at   int
		want []string
	}{
		{"the inventory is not valid", func(_ *testing.T, k *kit) { k.files["inventory/nodes.yaml"] = []byte("nodes: 3\n") },
			-2, []string{"fail the inventory is not valid: inventory/nodes.yaml:1: apiVersion: is missing (it has no default): add it" + makeNew}},
		{"a node was added", func(_ *testing.T, k *kit) {
			k.writeHere("nodes.yaml", "  - name: k3s-dev-gpu-1", "  - {name: k3s-dev-worker-2, role: worker, vmid: 104, address: 192.168.20.22}\n  - name: k3s-dev-gpu-1")
		}, 3, []string{"fail the kit has no k3s-dev-worker-2 (VM 104), which the inventory of the stack has" + makeNew}},
		{"a node was removed", func(_ *testing.T, k *kit) {
			k.writeHere("nodes.yaml", "  - name: k3s-dev-gpu-1\n    role: gpu-worker\n    vmid: 103\n    address: 192.168.20.31\n    gpus: [{mapping: rtx3090}]\n", "")
		}, 3, []string{"fail the kit has k3s-dev-gpu-1 (VM 103), which the inventory of the stack has no more" + makeNew}},
		{"a machine was replaced by another", func(_ *testing.T, k *kit) {
			k.writeHere("nodes.yaml", "vmid: 102", "vmid: 112")
		}, 3, []string{"fail the kit has no k3s-dev-worker-1 (VM 112), which the inventory of the stack has" + makeNew}},
		{"a file was added", func(t *testing.T, k *kit) {
			require.NoError(t, os.WriteFile(filepath.Join(k.check.Inventory, "values.yaml"), []byte("a: b\n"), 0o600))
		}, 3, []string{"warn the inventory of the stack was changed since, in values.yaml" + makeNew}},
		{"a setting was changed", func(_ *testing.T, k *kit) { k.writeHere("cluster.yaml", "memoryMiB: 8192", "memoryMiB: 9216") },
			3, []string{"warn the inventory of the stack was changed since, in cluster.yaml" + makeNew}},
		{"the inventory here is not valid", func(_ *testing.T, k *kit) { k.writeHere("cluster.yaml", "name: k3s-dev", "name: K3S_DEV") },
			3, []string{"warn not compared with the inventory of the stack, which is not valid: `em-infra validate` says what is wrong"}},
		{"there is no inventory here", func(t *testing.T, k *kit) { k.check.Inventory = filepath.Join(t.TempDir(), "none") },
			3, []string{"warn not compared with the inventory of the stack, which is not here"}},
		{"no state", func(_ *testing.T, k *kit) { delete(k.files, "state/2026-11-20T22-15-00-for-kit.json") },
			4, []string{"fail the state is missing" + makeNew}},
		{"no configuration", func(_ *testing.T, k *kit) { delete(k.files, "project/Pulumi.k3s-dev.yaml") },
			4, []string{"fail the configuration of the stack is missing" + makeNew, "ok the state opens, has the same machine secrets and 1 resources"}},
		{"another passphrase than that of its state", func(_ *testing.T, k *kit) { k.files[recoverykit.Passphrase] = []byte("open barley") },
			4, []string{"fail the passphrase does not open the state: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or make a new one with `em-infra kit create`"}},
		{"the state of another cluster", func(t *testing.T, k *kit) {
			k.files["state/2026-11-20T22-15-00-for-kit.json"] = stateOf(t, clusterOf(t, theirs), "open sesame")
		}, 4, []string{"fail the state has other machine secrets than the kit" + makeNew}},
		{"a state that a key service seals", func(_ *testing.T, k *kit) {
			k.files["state/2026-11-20T22-15-00-for-kit.json"] = []byte(`{"version": 3, "deployment": {"secrets_providers": {"type": "cloud", "state": {"url": "hashivault://k3s-dev", "encryptedkey": "c2VhbGVk"}}}}`)
		}, 4, []string{"warn the state is sealed by hashivault://k3s-dev, which is not asked: whoever rebuilds the cluster needs access to it"}},
		{"no snapshot", func(_ *testing.T, k *kit) { k.description.Snapshot = "" },
			5, []string{"warn there is no snapshot of etcd in it: the objects of Kubernetes could not be restored: when etcd answers, make a new one with `em-infra kit create`"}},
		{"a snapshot that is cut off", func(_ *testing.T, k *kit) { k.files[k.sealedSnapshot()] = k.files[k.sealedSnapshot()][:600] },
			5, []string{"fail the snapshot 2026-11-20T22-15-00-for-kit: it is damaged or cut off: failed to decrypt and authenticate payload chunk" + makeNew}},
		{"a snapshot for others", func(t *testing.T, k *kit) {
			other, err := age.GenerateX25519Identity()
			require.NoError(t, err)
			k.hasSnapshot(snapshotFor(t, other.Recipient()))
		}, 5, []string{"fail the snapshot 2026-11-20T22-15-00-for-kit: it is sealed for others" + makeNew}},
		{"no database", func(t *testing.T, k *kit) { k.files[k.sealedSnapshot()] = k.sealed("no database of etcd") },
			5, []string{"fail the snapshot 2026-11-20T22-15-00-for-kit: the snapshot is cut off: it does not end with the checksum that etcd appends" + makeNew}},
		{"secrets that were changed since", func(_ *testing.T, k *kit) {
			k.check.Secrets = func(context.Context) (string, error) { return "5e5e", nil }
		}, 6, []string{"fail the kit is older than the machine secrets in the state of the stack" + makeNew}},
		{"a stack without machine secrets", func(_ *testing.T, k *kit) {
			k.check.Secrets = func(context.Context) (string, error) { return "", nil }
		}, 6, []string{"warn not compared with the state of the stack, which has no machine secrets"}},
		{"no state here", func(_ *testing.T, k *kit) {
			k.check.Secrets = func(context.Context) (string, error) { return "", errors.New("there is no state\nof the stack") }
		}, 6, []string{"warn not compared with the state of the stack: there is no state"}},
		{"a talosconfig that is cut off", func(_ *testing.T, k *kit) { k.files[recoverykit.Talosconfig] = []byte("context: [") },
			7, []string{"fail the talosconfig cannot be read" + makeNew}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, own, address)
			test.change(t, k)
			want := sound(t, own, address)
			at, lines := test.at, 1
			if at < 0 {
				at, lines = -at, 2
			}
			require.Equal(t, slices.Replace(want, at, at+lines, test.want...), k.lines())
		})
	}
}

// TestAKitForThePassphraseOfTheStack has no passphrase in it: that of the user opens the kit, its state and its snapshot.
func TestAKitForThePassphraseOfTheStack(t *testing.T) {
	t.Parallel()
	own, address := running(t)
	k := newKit(t, own, address)
	var err error
	k.recipient, err = etcdsnapshot.WithPassphrase("open sesame")
	require.NoError(t, err)
	identity, err := etcdsnapshot.OpenedByPassphrase("open sesame")
	require.NoError(t, err)
	k.check.Identities = []age.Identity{identity}
	k.hasSnapshot(snapshotFor(t, k.recipient))
	delete(k.files, recoverykit.Passphrase)

	k.check.Passphrase = engine.PassphraseIn(map[string]string{"PULUMI_CONFIG_PASSPHRASE": "open sesame"})
	require.Equal(t, sound(t, own, address), k.lines())

	k.check.Passphrase = nil
	require.Equal(t, "fail the passphrase does not open the state: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or make a new one with `em-infra kit create`",
		k.lines()[4])
}
