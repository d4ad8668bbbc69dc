package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// withTwoCards gives the host two cards with the same mapping.
func withTwoCards(c *proxmox.Config) {
	first := gpuDevice
	first.Mapping = "cards"
	second := first
	second.Address, second.IOMMUGroup = "0000:02:00.0", 13
	c.Hosts[0].PCI = []proxmox.PCIDevice{first, second}
}

// An initial mapping of the host reads like one from the web interface.
func TestMappingsOfTheHost(t *testing.T) {
	t.Parallel()

	l := newLab(t, withTwoCards)

	var mappings []struct {
		ID     string   `json:"id"`
		Map    []string `json:"map"`
		Checks []any    `json:"checks"`
	}

	l.ok(http.MethodGet, "/cluster/mapping/pci", values("check-node=vmhost"), &mappings)
	require.Len(t, mappings, 1)
	require.Equal(t, "cards", mappings[0].ID)
	require.Equal(t, []string{
		"id=10de:2204,iommugroup=12,node=vmhost,path=0000:01:00.0,subsystem-id=1458:403b",
		"id=10de:2204,iommugroup=13,node=vmhost,path=0000:02:00.0,subsystem-id=1458:403b",
	}, mappings[0].Map)
	require.Empty(t, mappings[0].Checks, "the host has what it says")
}

// Each VM takes the next free device of a mapping, and no device twice.
func TestDevicesOfOneMapping(t *testing.T) {
	t.Parallel()

	const start = "/status/start"

	tests := map[string]struct {
		settings  []string // of VM 101, 102, …
		exits     []string
		addresses [][]string
	}{
		"two machines": {
			settings:  []string{"hostpci0=mapping=cards", "hostpci0=mapping=cards"},
			exits:     []string{"OK", "OK"},
			addresses: [][]string{{"0000:01:00.0"}, {"0000:02:00.0"}},
		},
		"one machine twice": {
			settings:  []string{"hostpci0=mapping=cards hostpci1=mapping=cards"},
			exits:     []string{"OK"},
			addresses: [][]string{{"0000:01:00.0", "0000:02:00.0"}},
		},
		"one too many": {
			settings:  []string{"hostpci0=mapping=cards hostpci1=mapping=cards", "hostpci0=mapping=cards"},
			exits:     []string{"OK", "could not find a free device for 'hostpci0'"},
			addresses: [][]string{{"0000:01:00.0", "0000:02:00.0"}, nil},
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := &machines{}
			l := newLab(t, func(c *proxmox.Config) {
				withTwoCards(c)
				c.Machines = m
			})

			for i, settings := range test.settings {
				vmid := []string{"101", "102"}[i]
				l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid="+vmid+" "+settings))
				require.Equal(t, test.exits[i], l.task(http.MethodPost, "/nodes/vmhost/qemu/"+vmid+start, nil))

				if test.addresses[i] != nil {
					var addresses []string
					for _, device := range m.machine(101 + i).PCI {
						addresses = append(addresses, device.Address)
					}

					require.Equal(t, test.addresses[i], addresses)
				}
			}
		})
	}
}

// The only device of a mapping cannot be given to one VM twice.
func TestADeviceGivenTwice(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { c.Hosts[0].PCI[0].Mapping = "card" })
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 hostpci0=mapping=card hostpci1=mapping=card"))
	require.Equal(t, "device '0000:01:00.0' assigned more than once",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))
}
