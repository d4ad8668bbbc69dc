package proxmox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

// descriptions returns each description of the hosts once.
type descriptions struct {
	mu   sync.Mutex
	next []proxmox.Host
}

func (d *descriptions) say(hosts ...proxmox.Host) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.next = hosts
}

func (d *descriptions) described() []proxmox.Host {
	d.mu.Lock()
	defer d.mu.Unlock()

	current := d.next
	d.next = nil

	return current
}

// growingLab returns a lab, and a function that changes the description of its first host.
func growingLab(t *testing.T, change func(*proxmox.Config)) (*lab, func(func(*proxmox.Host))) {
	t.Helper()

	var current descriptions

	l := newLab(t, func(c *proxmox.Config) {
		c.Described = current.described
		if change != nil {
			change(c)
		}
	})

	return l, func(describe func(*proxmox.Host)) {
		host := testConfig().Hosts[0]
		describe(&host)
		current.say(host)
	}
}

// A change of a running host's description applies to the next request.
func TestAHostThatGrows(t *testing.T) {
	t.Parallel()

	l, describe := growingLab(t, nil)
	describe(func(h *proxmox.Host) {
		h.MemoryMiB = 256 << 10
		h.Bridges = append(h.Bridges, proxmox.Bridge{Name: "vmbr7", Ports: []string{"eno2"}})
		h.Storages = []proxmox.Storage{{Name: "slow", Type: storage.ZFSPool, Content: []string{storage.Images}, TotalBytes: 1 << 40}}

		card := gpuDevice
		card.Address, card.IOMMUGroup, card.Mapping = "0000:81:00.0", 81, "card"
		h.PCI = append(h.PCI, card)
	})

	var status struct{ Memory struct{ Total uint64 } }

	l.ok(http.MethodGet, "/nodes/vmhost/status", nil, &status)
	require.Equal(t, uint64(256<<30), status.Memory.Total)
	l.ok(http.MethodGet, "/nodes/vmhost/network/vmbr7", nil, nil)
	l.ok(http.MethodGet, "/nodes/vmhost/storage/slow/status", nil, nil)
	l.ok(http.MethodGet, "/nodes/vmhost/storage/tank/status", nil, nil)

	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 hostpci0=mapping=card"))
	require.Equal(t, "OK", l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
}

// A host that joins can be used at once.
func TestAHostThatJoins(t *testing.T) {
	t.Parallel()

	l, describe := growingLab(t, nil)
	describe(func(h *proxmox.Host) { h.Name = "vmhost3" })
	l.must(http.MethodPost, "/nodes/vmhost3/qemu", values("vmid=101 scsi0=tank:8"))

	var nodes []struct{ Node string }

	l.ok(http.MethodGet, "/nodes", nil, &nodes)
	require.Len(t, nodes, 3)
}

// A host does not shrink, because VMs may use its resources.
func TestAHostDoesNotShrink(t *testing.T) {
	t.Parallel()

	l, describe := growingLab(t, nil)
	describe(func(h *proxmox.Host) {
		h.Cores, h.MemoryMiB, h.Storages, h.Bridges, h.PCI = 1, 1, nil, nil, nil
	})

	var devices []struct{ ID string }

	l.ok(http.MethodGet, "/nodes/vmhost/hardware/pci", nil, &devices)
	require.Len(t, devices, 1)
	l.ok(http.MethodGet, "/nodes/vmhost/storage/tank/status", nil, nil)
	l.ok(http.MethodGet, "/nodes/vmhost2/status", nil, nil)
}

// An invalid description is ignored, and the host continues.
func TestAHostThatCannotBe(t *testing.T) {
	t.Parallel()

	l, describe := growingLab(t, nil)
	describe(func(h *proxmox.Host) {
		h.MemoryMiB = 256 << 10
		h.Storages[1].Content = []string{storage.ISO} // of a ZFS pool
	})

	var status struct{ Memory struct{ Total uint64 } }

	l.ok(http.MethodGet, "/nodes/vmhost/status", nil, &status)
	require.Equal(t, uint64(64<<30), status.Memory.Total)
	require.EqualError(t, l.server.Grow([]proxmox.Host{{Name: "vmhost", Cores: 1, MemoryMiB: 1, Storages: []proxmox.Storage{
		{Name: "tank", Type: storage.ZFSPool, Content: []string{storage.ISO}},
	}}}), "lab host: vmhost: storage tank of type zfspool cannot hold ISO files")
}

// A card replaces another one in the same slot; the mapping follows.
func TestACardThatIsSwapped(t *testing.T) {
	t.Parallel()

	l, describe := growingLab(t, func(c *proxmox.Config) { c.Hosts[0].PCI[0].Mapping = "card" })
	describe(func(h *proxmox.Host) {
		h.PCI[0].Device, h.PCI[0].Mapping = "0x2684", "card"
	})

	var mapping struct{ Map []string }

	l.ok(http.MethodGet, "/cluster/mapping/pci/card", nil, &mapping)
	require.Equal(t, []string{"id=10de:2684,iommugroup=12,node=vmhost,path=0000:01:00.0,subsystem-id=1458:403b"}, mapping.Map)
}

// After a restart the host has everything that was ever added, except what a request has deleted, and as a request has set it.
func TestARestartedHostHasGrown(t *testing.T) {
	t.Parallel()

	config := testConfig()
	config.StateFile = t.TempDir() + "/host.json"
	config.Hosts[0].PCI[0].Mapping = "card"
	config.Tokens = []proxmox.Token{{ID: operator, Secret: "madeup", Role: "Administrator"}}

	first := startLab(t, config, operator+"=madeup")
	grown := config.Hosts[0]
	grown.Name = "vmhost3"
	require.NoError(t, first.server.Grow([]proxmox.Host{grown}))
	first.ok(http.MethodDelete, "/cluster/mapping/pci/card", nil, nil)
	first.ok(http.MethodPut, "/storage/local", url.Values{"content": {"iso,vztmpl"}}, nil)
	first.ok(http.MethodDelete, "/storage/tank", nil, nil)
	require.NoError(t, first.server.Grow([]proxmox.Host{grown}))
	require.NoError(t, first.server.Close())

	again := startLab(t, config, operator+"=madeup")
	again.ok(http.MethodGet, "/nodes/vmhost3/status", nil, nil)

	var mappings []struct{ ID string }

	again.ok(http.MethodGet, "/cluster/mapping/pci", nil, &mappings)
	require.Empty(t, mappings)

	var storages []struct{ Storage, Content string }

	again.ok(http.MethodGet, "/storage", nil, &storages)
	require.Contains(t, storages, struct{ Storage, Content string }{"local", "iso,vztmpl"})
	require.NotContains(t, fmt.Sprint(storages), "{tank ")
}
