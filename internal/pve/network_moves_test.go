package pve_test

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// TestWhatMovesFromOneInterfaceToAnother: Proxmox VE checks all staged interfaces at each call, so an interface has to give up what another one gets,
// in every order of the inventory.
func TestWhatMovesFromOneInterfaceToAnother(t *testing.T) {
	t.Parallel()
	bridge := func(name string, ports ...string) hostspec.Interface {
		return hostspec.Interface{Name: name, Ports: ports}
	}
	routed := func(name, address, gateway, gateway6 string) hostspec.Interface {
		one := hostspec.Interface{Name: name, Address: netip.MustParsePrefix(address), Address6: netip.MustParsePrefix("fd00::1/64")}
		if gateway != "" {
			one.Gateway = netip.MustParseAddr(gateway)
		}
		if gateway6 != "" {
			one.Gateway6 = netip.MustParseAddr(gateway6)
		}
		return one
	}
	vlan := func(name, device string) hostspec.Interface {
		return hostspec.Interface{Name: name, Device: device, Tag: 30}
	}
	for name, test := range map[string]struct{ before, after []hostspec.Interface }{
		"a bridge has another name": {
			[]hostspec.Interface{bridge("vmbr1", "eno2", "eno3"), vlan("vmbr1.30", "vmbr1")},
			[]hostspec.Interface{bridge("vmbr2", "eno2", "eno3"), vlan("vmbr2.30", "vmbr2")},
		},
		"a bridge with a VLAN that keeps its name": {
			[]hostspec.Interface{bridge("vmbr1", "eno2"), vlan("vlan30", "vmbr1")},
			[]hostspec.Interface{vlan("vlan30", "vmbr2"), bridge("vmbr2", "eno2")},
		},
		"a port": {
			[]hostspec.Interface{bridge("vmbr1", "eno2", "eno3"), bridge("vmbr2", "eno4")},
			[]hostspec.Interface{bridge("vmbr1", "eno2"), bridge("vmbr2", "eno3", "eno4")},
		},
		"the only port": {
			[]hostspec.Interface{bridge("vmbr1", "eno2"), bridge("vmbr2")},
			[]hostspec.Interface{bridge("vmbr1"), bridge("vmbr2", "eno2")},
		},
		"two ports change places": {
			[]hostspec.Interface{bridge("vmbr1", "eno2"), bridge("vmbr2", "eno3")},
			[]hostspec.Interface{bridge("vmbr1", "eno3"), bridge("vmbr2", "eno2")},
		},
		"the default routes": {
			[]hostspec.Interface{routed("vmbr1", "10.1.0.1/24", "10.1.0.254", "fd00::fe"), routed("vmbr2", "10.2.0.1/24", "", "")},
			[]hostspec.Interface{routed("vmbr1", "10.1.0.1/24", "", ""), routed("vmbr2", "10.2.0.1/24", "10.2.0.254", "fd00::fe")},
		},
		"the default routes change places": {
			[]hostspec.Interface{routed("vmbr1", "10.1.0.1/24", "10.1.0.254", ""), routed("vmbr2", "10.2.0.1/24", "", "fd00::fe")},
			[]hostspec.Interface{routed("vmbr1", "10.1.0.1/24", "", "fd00::fe"), routed("vmbr2", "10.2.0.1/24", "10.2.0.254", "")},
		},
		"a VLAN becomes a port": {
			[]hostspec.Interface{bridge("vmbr1", "eno2"), {Name: "vmbr1.30", Device: "vmbr1", Tag: 30, Address: netip.MustParsePrefix("10.3.0.1/24")}, bridge("vmbr2")},
			[]hostspec.Interface{bridge("vmbr2", "vmbr1.30"), bridge("vmbr1", "eno2"), vlan("vmbr1.30", "vmbr1")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goesBothWays(t, test.before, test.after)
		})
	}
}

// goesBothWays changes the interfaces of new hosts from one list to the other and back, in both orders of the inventory.
func goesBothWays(t *testing.T, one, other []hostspec.Interface) {
	t.Helper()
	for _, step := range [][2][]hostspec.Interface{{one, other}, {other, one}} {
		for _, backwards := range []bool{false, true} {
			e := newHost(t, nil)
			run := moving(e)
			run.is(t, step[0])
			after := slices.Clone(step[1])
			if backwards {
				slices.Reverse(after)
			}
			run.is(t, after)
			require.Equal(t, 2, e.reloads())
		}
	}
}

// moved is a run that may change vmbr1 and vmbr2 even if they are on the way to the API.
type moved struct{ pve.NetworkRun }

func moving(e *emulated) moved {
	run, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site"})
	run.Allowed = []string{node + "/vmbr1", node + "/vmbr2"}
	return moved{run}
}

// is applies interfaces, and looks for them on the host.
func (m moved) is(t *testing.T, interfaces []hostspec.Interface) {
	t.Helper()
	m.Wanted.Interfaces = interfaces
	changed, err := m.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	differences, err := m.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	plan, err := m.Foresee(t.Context())
	require.NoError(t, err)
	require.Empty(t, plan.String())
}

// TestStagedChangesOnTheWayToTheAPI checks that changes that another user has staged for an interface of the inventory are not applied without
// permission. The host shows its interfaces with what is staged, so the run itself has nothing left to change.
func TestStagedChangesOnTheWayToTheAPI(t *testing.T) {
	t.Parallel()
	const before = "changes of the network of vmhost are staged that this run would apply, and a mistake there cuts the operator off: "
	const after = ". Nothing was touched: revert them on vmhost under System, Network, or allow them with `em-infra up --allow-interface vmhost/INTERFACE` once you have another way in, then run up again. They are:\n---"
	way := hostspec.Interface{
		Name: "vmbr0", Ports: []string{"eno1"}, Address: netip.MustParsePrefix("192.168.20.10/24"), Gateway: netip.MustParseAddr("192.168.20.1"),
	}
	ported, elsewhere := way, way
	ported.Ports = []string{"eno1", "eno3"}
	elsewhere.Gateway = netip.Addr{}
	for name, test := range map[string]struct {
		staged string
		wanted hostspec.Interface
		reason string
	}{
		"its ports": {
			`{"type": "bridge", "autostart": "1", "bridge_ports": "eno1 eno3", "cidr": "192.168.20.10/24", "gateway": "192.168.20.1"}`, ported,
			"vmbr0 is on the way to the API (vmbr0 has the default route)",
		},
		"its default route": {
			`{"type": "bridge", "autostart": "1", "bridge_ports": "eno1", "cidr": "192.168.20.10/24", "delete": "gateway"}`, elsewhere,
			"vmbr0 is on the way to the API (it loses the gateway 192.168.20.1)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := wired(t)
			e.stage(http.MethodPut, "/vmbr0", test.staged)
			run, messages := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{test.wanted}})
			_, err := run.Foresee(t.Context())
			require.ErrorContains(t, err, before+test.reason+after)
			_, err = run.Apply(t.Context())
			require.ErrorContains(t, err, before+test.reason+after)
			require.Zero(t, e.reloads())
			require.Empty(t, *messages)

			run.Allowed = []string{"vmhost/vmbr0"}
			_, err = run.Apply(t.Context())
			require.NoError(t, err)
		})
	}
}
