package preflight_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// shared returns an inventory of two hosts with one template, and a snapshot in which they share its storages.
func shared(t *testing.T) (*inventory.Inventory, preflight.Snapshot) {
	t.Helper()
	_, found := sound(t)
	for _, name := range []string{"pve1", "pve2"} {
		change(&found, name, func(h *preflight.Host) {
			h.Storages.Value = []pve.Storage{
				{Name: "local", Content: "iso,vztmpl", Active: true, AvailableBytes: 80 * gib},
				{Name: "nas", Content: "iso", Active: true, Shared: true, AvailableBytes: 80 * gib},
				{Name: "ceph", Content: "images", Active: true, Shared: true, AvailableBytes: 900 * gib},
			}
		})
	}
	found.Privileges["/storage/nas"], found.Privileges["/storage/ceph"] = allowed(9), allowed(9)
	cluster := strings.NewReplacer("isoStorage: local, diskStorage: tank", "isoStorage: nas, diskStorage: ceph", "perHost: {pve2: 9001}", "shared: true").Replace(clusterYAML)
	return inventoryOf(t, cluster, nodesYAML), found
}

func TestHostsThatShareATemplate(t *testing.T) {
	t.Parallel()
	inv, found := shared(t)
	report := preflight.Evaluate(inv, found)
	require.Empty(t, report.Unsound())
	var sentences []string
	for _, check := range report {
		if check.Name == "template" || check.Name == "storage" {
			sentences = append(sentences, check.Sentence)
		}
	}
	require.Equal(t, []string{
		"storage nas has room for 1 GiB, storage ceph has room for 489 GiB",
		"template 9000 is not on pve1 yet: up makes it",
	}, sentences)
}

func TestStoragesOfASharedTemplateAreShared(t *testing.T) {
	t.Parallel()
	const remedy = "name a storage that the hosts share, or replace template.shared by template.perHost"
	for _, test := range []struct {
		name    string
		alter   func(*preflight.Host)
		host    string
		finding preflight.Check
	}{
		{
			"the ISO's", func(h *preflight.Host) { h.Storages.Value[1].Shared = false }, "pve1",
			preflight.Check{Name: "storage", Result: preflight.Fail, Sentence: "storage nas on pve1 is not shared: the shared template cannot be cloned from it or to it", Remedy: remedy},
		},
		{
			"the disks'", func(h *preflight.Host) { h.Storages.Value[2].Shared = false }, "pve2",
			preflight.Check{Name: "storage", Result: preflight.Fail, Sentence: "storage ceph on pve2 is not shared: the shared template cannot be cloned from it or to it", Remedy: remedy},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			inv, found := shared(t)
			change(&found, test.host, test.alter)
			require.Equal(t, preflight.Report{test.finding}, preflight.Evaluate(inv, found).Unsound())
		})
	}
}

// The hosts report the free space of a shared storage from different times.
func TestTheLeastRoomOfASharedStorageCounts(t *testing.T) {
	t.Parallel()
	inv, found := shared(t)
	change(&found, "pve2", func(h *preflight.Host) { h.Storages.Value[2].AvailableBytes = 400 * gib })
	require.Equal(t, preflight.Report{{
		Name: "storage", Result: preflight.Fail, Sentence: "storage ceph has 400 GiB free, the inventory asks for 489 GiB", Remedy: "free space, or set diskStorage or diskGiB",
	}}, preflight.Evaluate(inv, found).Unsound())
}

// A clone is created on the template's host, which therefore needs the clone's storage, too.
func TestStorageOfANodeOnAnotherHostIsSharedToo(t *testing.T) {
	t.Parallel()
	inv, found := shared(t)
	for i := range inv.Nodes {
		if inv.Nodes[i].Name == "w1" {
			inv.Nodes[i].DiskStorage = "fast"
		}
	}
	change(&found, "pve2", func(h *preflight.Host) {
		h.Storages.Value = append(h.Storages.Value, pve.Storage{Name: "fast", Content: "images", Active: true, AvailableBytes: 900 * gib})
	})
	found.Privileges["/storage/fast"] = allowed(9)
	require.Equal(t, preflight.Report{
		{Name: "storage", Result: preflight.Fail, Sentence: "storage fast is not on pve1, which has ceph, local, nas", Remedy: "correct the storage in the inventory, or add it in Proxmox VE"},
		{Name: "storage", Result: preflight.Fail, Sentence: "storage fast on pve2 is not shared: the shared template cannot be cloned from it or to it", Remedy: "name a storage that the hosts share, or replace template.shared by template.perHost"},
	}, preflight.Evaluate(inv, found).Unsound())
}
