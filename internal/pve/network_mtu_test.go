package pve_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// mtuOf returns the MTU of an interface of the host; empty for none.
func (e *emulated) mtuOf(name string) string {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	var one struct{ MTU string }
	require.NoError(e.t, client.Get(e.t.Context(), "/nodes/"+node+"/network/"+name, &one))
	return one.MTU
}

// sized are interfaces with MTUs: vmbr1 on eno2, and a VLAN on it.
func sized(bridge, vlan int) []hostspec.Interface {
	return []hostspec.Interface{{Name: "vmbr1", Ports: []string{"eno2"}, MTU: bridge}, {Name: "vmbr1.30", Device: "vmbr1", Tag: 30, MTU: vlan}}
}

// TestThePortsOfABridgeGetItsMTU: Proxmox VE refuses a bridge with a larger MTU than its ports. The ports keep it when the bridge gets a lower MTU or
// is deleted.
func TestThePortsOfABridgeGetItsMTU(t *testing.T) {
	t.Parallel()
	e := wired(t)
	run, messages := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: sized(9000, 0)})
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, e.reloads())
	require.Contains(t, (*messages)[0], " iface eno2 inet manual\n+\tmtu 9000\n")

	e.stage(http.MethodPut, "/vmbr1", `{"type": "bridge", "delete": "mtu"}`)
	e.stage(http.MethodPut, "/eno2", `{"type": "eth", "delete": "mtu"}`)
	e.must(http.MethodPut, "/network", url.Values{})
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"vmbr1: mtu: none instead of 9000", "eno2: mtu: none instead of 9000, which vmbr1 on it has"}, differences)
	plan, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "the MTU of eno2 is raised to 9000, vmbr1 is changed", plan.String())
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9000", e.mtuOf("eno2"))

	run.Wanted.Interfaces = sized(1500, 0)
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9000", e.mtuOf("eno2"), "more does no harm")
	_, err = run.Release(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9000", e.mtuOf("eno2"))
}

// TestABondGetsTheMTUOfItsBridge: on a bond without an MTU, Proxmox VE accepts any MTU, which the kernel does not.
func TestABondGetsTheMTUOfItsBridge(t *testing.T) {
	t.Parallel()
	e := wired(t)
	e.stage(http.MethodPost, "", `{"iface": "bond0", "type": "bond", "slaves": "eno3 eno4", "bond_mode": "802.3ad"}`)
	e.stage(http.MethodPost, "", `{"iface": "vmbr1", "type": "bridge", "autostart": "1", "bridge_ports": "bond0", "mtu": "9000"}`)
	e.must(http.MethodPut, "/network", url.Values{})
	run, messages := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{{Name: "vmbr1", Ports: []string{"bond0"}, MTU: 9000}}})
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"bond0: mtu: none instead of 9000, which vmbr1 on it has"}, differences)
	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	require.Contains(t, (*messages)[0], "+\tmtu 9000\n")
	require.NotContains(t, (*messages)[0], "\n-\t", "nothing else of the bond changes")
	changed, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
}

// TestMTUsRiseFromBelowAndFallFromAbove: Proxmox VE refuses each call after which something has a larger MTU than what it is made of.
func TestMTUsRiseFromBelowAndFallFromAbove(t *testing.T) {
	t.Parallel()
	stacked := func(mtu int) []hostspec.Interface {
		return append(sized(mtu, mtu), hostspec.Interface{Name: "vmbr2", Ports: []string{"vmbr1.30"}, MTU: mtu})
	}
	crossed := func(first, second int, on string) []hostspec.Interface {
		return []hostspec.Interface{
			{Name: "vmbr1", Ports: []string{"eno2"}, MTU: first}, {Name: "vmbr2", Ports: []string{"eno3"}, MTU: second},
			{Name: "vlan30", Device: on, Tag: 30, MTU: 9000},
		}
	}
	for name, test := range map[string]struct{ before, after []hostspec.Interface }{
		"of a bridge and its VLAN":             {sized(9000, 9000), sized(8000, 8000)},
		"to that of the device":                {sized(9000, 9000), sized(0, 0)},
		"below that of the device":             {sized(1400, 1300), sized(1300, 1280)},
		"of a VLAN that had none":              {sized(9000, 0), sized(1400, 1400)},
		"of a bridge that loses its VLAN":      {sized(9000, 9000), sized(0, 0)[:1]},
		"of a bridge on a VLAN":                {stacked(9000), stacked(1500)},
		"of bridges between which a VLAN goes": {crossed(9000, 1500, "vmbr1"), crossed(1500, 9000, "vmbr2")},
		"on a port that is a VLAN by its name": {
			[]hostspec.Interface{{Name: "vmbr1", Ports: []string{"eno2.40"}}}, []hostspec.Interface{{Name: "vmbr1", Ports: []string{"eno2.40"}, MTU: 9000}},
		},
		"of a VLAN on a card": {
			[]hostspec.Interface{{Name: "eno3.30", Device: "eno3", Tag: 30}}, []hostspec.Interface{{Name: "eno3.30", Device: "eno3", Tag: 30, MTU: 9000}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goesBothWays(t, test.before, test.after)
		})
	}
}

// TestAPortOnTheWayToTheAPIIsNotRaised checks that the MTU of such a port is raised only if the port is allowed by its name.
func TestAPortOnTheWayToTheAPIIsNotRaised(t *testing.T) {
	t.Parallel()
	e := wired(t)
	run, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{{
		Name: "vmbr0", Ports: []string{"eno1"}, Address: netip.MustParsePrefix("192.168.20.10/24"), Gateway: netip.MustParseAddr("192.168.20.1"), MTU: 9000,
	}}})
	run.Allowed = []string{"vmhost/vmbr0"}
	_, err := run.Foresee(t.Context())
	require.EqualError(t, err, "the network of vmhost is not changed, since a mistake there cuts the operator off: eno1 is on the way to the API (vmbr0 needs it, and vmbr0 has the default route)"+
		": change it at the host's console, or allow it with `em-infra up --allow-interface vmhost/INTERFACE` once you have another way in")
	run.Allowed = append(run.Allowed, "vmhost/eno1")
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, "9000", e.mtuOf("eno1"))
}

// TestARaisedMTUThatAKilledRunHasStaged checks that such a change is continued, and that other changes of the port count as those of another user.
func TestARaisedMTUThatAKilledRunHasStaged(t *testing.T) {
	t.Parallel()
	e := wired(t)
	e.stage(http.MethodPut, "/eno2", `{"type": "eth", "mtu": "9000"}`)
	run, messages := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: sized(9000, 0)})
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a run that was killed has staged changes of the network of vmhost: they are part of this one", (*messages)[0])

	e.stage(http.MethodPut, "/eno2", `{"type": "eth", "mtu": "9100", "comments": "blue cable"}`)
	_, err = run.Apply(t.Context())
	require.ErrorContains(t, err, "another user has staged changes of the network of vmhost that are not this stack's (eno2), and nothing was touched")
	e.stage(http.MethodDelete, "", "")
	e.stage(http.MethodPut, "/eno3", `{"type": "eth", "mtu": "9000"}`)
	_, err = run.Apply(t.Context())
	require.ErrorContains(t, err, "(eno3)", "nothing of this stack is on it")
	e.stage(http.MethodDelete, "", "")

	e.stage(http.MethodPut, "/eno2", `{"type": "eth", "mtu": "9100"}`)
	_, err = run.Release(t.Context())
	require.NoError(t, err, "vmbr1, which is to go, is on it")
}

// TestAnMTUThatIsNotRaised: a bridge that the inventory does not name stays as it is, so what is on it may have no larger MTU.
func TestAnMTUThatIsNotRaised(t *testing.T) {
	t.Parallel()
	e := wired(t)
	run, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{{Name: "vmbr0.40", Device: "vmbr0", Tag: 40, MTU: 9000}}})
	const refusal = "the network of vmhost is not changed, since vmbr0.40 is to have an MTU of 9000, and vmbr0, which it is made of, has 1500 (Proxmox VE wants no lower one there, and only that of cards and bonds without DHCP is raised here): raise it on vmhost under System, Network, apply that, then run again"
	_, err := run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	require.Zero(t, e.reloads())
}
