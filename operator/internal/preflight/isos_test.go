package preflight_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// TestAnISOThatWasDeletedUnderANode: Proxmox VE starts no machine whose ISO is gone, and no template uses the ISO of an older node any more.
func TestAnISOThatWasDeletedUnderANode(t *testing.T) {
	t.Parallel()
	const older, wanted = "local:iso/talos-v1.12.3-nocloud-0123456789abcdef-amd64.iso", "local:iso/talos-v1.12.4-nocloud-0123456789abcdef-amd64.iso"
	lost := preflight.Report{{
		Name: "iso", Result: preflight.Warn, Sentence: "w1 does not start again once it is off: " + older + " in its drive ide0 was deleted",
		Remedy: "empty the drive, which an installed node does not read, as root on pve2: `qm set 102 --ide0 none,media=cdrom`",
	}}
	for name, test := range map[string]struct {
		volume string
		state  preflight.Reading[bool]
		want   preflight.Report
	}{
		"it is there":              {older, preflight.Reading[bool]{Value: true}, preflight.Report{}},
		"it is gone":               {older, preflight.Reading[bool]{}, lost},
		"a run brings it back":     {wanted, preflight.Reading[bool]{}, preflight.Report{}},
		"the token may not see it": {older, preflight.Reading[bool]{Err: pve.ErrForbidden}, preflight.Report{}},
		"its storage does not answer": {older, preflight.Reading[bool]{Err: errDown}, preflight.Report{{
			Name: "iso", Result: preflight.Warn, Remedy: "see `pvesm status` on pve2",
			Sentence: "whether " + older + " in the drive ide0 of w1 is there cannot be read (596 Connection timed out)",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, found := sound(t)
			add(&found, pve.Guest{VMID: 102, Name: "w1", Node: "pve2", Type: "qemu", Status: "running", MemoryBytes: 8 * gib}, pve.GuestConfig{
				"net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,tag=20", "ipconfig0": "ip=192.168.20.21/24",
				"ide0": test.volume + ",media=cdrom,size=300M", "ide2": "tank:vm-102-cloudinit,media=cdrom", "scsi0": "tank:vm-102-disk-0,size=128G",
			})
			found.ISOs = map[pve.ISO]preflight.Reading[bool]{{Host: "pve2", Volume: test.volume}: test.state}
			require.Equal(t, test.want, preflight.Evaluate(inv, found).Unsound())
		})
	}
}

// TestTheISOsInTheDrivesOfNodesAreLookedFor on the storage that the drive names.
func TestTheISOsInTheDrivesOfNodesAreLookedFor(t *testing.T) {
	t.Parallel()
	const name = "talos-v1.12.3-nocloud-376567988ad37013-amd64.iso"
	subject, _ := emulate(t, emulatedConfig(schema.Release91))
	subject.Known = []int{102}
	iso := pve.ISO{Host: "pve2", Volume: "local:iso/" + name}
	images := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<10)) }))
	t.Cleanup(images.Close)
	_, err := subject.Host.EnsureISO(t.Context(), iso, images.URL+"/nocloud-amd64.iso")
	require.NoError(t, err)
	client, err := subject.Host.Client()
	require.NoError(t, err)
	var task string
	require.NoError(t, client.Post(t.Context(), "/nodes/pve2/qemu", map[string]any{
		"vmid": 102, "name": "w1", "memory": 8192, "scsi0": "tank:128", "ide0": iso.Volume + ",media=cdrom", "net0": "virtio=BC:24:11:00:00:02,bridge=vmbr0,tag=20",
	}, &task))
	seen := func(want bool) func() bool {
		return func() bool {
			isThere, asked := preflight.Gather(t.Context(), subject).ISOs[iso]
			return asked && isThere.Err == nil && isThere.Value == want
		}
	}
	polltest.Until(t, seen(true))
	require.NoError(t, client.Delete(t.Context(), "/nodes/pve2/storage/local/content/"+iso.Volume, &task))
	polltest.Until(t, seen(false))
}
