package pve_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// wired is a host whose only bridge has its address, and a port.
func wired(t *testing.T) *emulated {
	t.Helper()
	return newHost(t, func(c *proxmox.Config) {
		c.Hosts[0].Bridges = []proxmox.Bridge{{
			Name: "vmbr0", Ports: []string{"eno1"}, Address: netip.MustParsePrefix("192.168.20.10/24"), Gateway: netip.MustParseAddr("192.168.20.1"),
		}}
	})
}

// wanted is a bridge with a VLAN on it.
func wanted() hostspec.Network {
	return hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{
		{Name: "vmbr1", Ports: []string{"eno2"}, VLANAware: true, Address: netip.MustParsePrefix("10.1.0.1/24"), MTU: 9000, Comment: "storage"},
		{Name: "vmbr1.30", Device: "vmbr1", Tag: 30, Address: netip.MustParsePrefix("10.30.0.1/24")},
	}}
}

// networkRun returns a run on the host, and the texts that it passes to Say.
func (e *emulated) networkRun(wanted hostspec.Network) (pve.NetworkRun, *[]string) {
	var messages []string
	return pve.NetworkRun{Connection: e.connection, Wanted: wanted, Say: func(text string) { messages = append(messages, text) }}, &messages
}

// stage changes what is staged of the host's network, as another user does.
func (e *emulated) stage(verb, rest, params string) {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	var body []byte
	if params != "" {
		body = []byte(params)
	}
	require.NoError(e.t, client.Req(e.t.Context(), verb, "/nodes/"+node+"/network"+rest, body, nil))
}

// reloads returns how often the host's network was reloaded.
func (e *emulated) reloads() (count int) {
	for _, call := range e.server.Calls() {
		if call.Verb == http.MethodPut && strings.HasSuffix(call.Path, "/network") {
			count++
		}
	}
	return count
}

// comment returns the comment of an interface.
func (e *emulated) comment(name string) string {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	var one struct{ Comments string }
	require.NoError(e.t, client.Get(e.t.Context(), "/nodes/"+node+"/network/"+name, &one))
	return one.Comments
}

func TestInterfacesAreStagedShownAndAppliedByOneReload(t *testing.T) {
	t.Parallel()
	e := wired(t)
	run, messages := e.networkRun(wanted())
	plan, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, "the MTU of eno2 is raised to 9000, vmbr1 is created, vmbr1.30 is created", plan.String())
	require.Zero(t, e.reloads(), "nothing was changed yet")

	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, 1, e.reloads())
	require.Len(t, *messages, 1)
	require.Contains(t, (*messages)[0], "+iface vmbr1 inet static\n+\taddress 10.1.0.1/24\n")
	require.Contains(t, (*messages)[0], "+#storage\n+#Made by em-infra for site.\n")

	changed, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.False(t, changed, "it is as wanted")
	require.Equal(t, 1, e.reloads())
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)

	e.stage(http.MethodPut, "/vmbr1", `{"type": "bridge", "mtu": "1500", "cidr": "10.1.0.1/24"}`)
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"vmbr1: mtu: 1500 instead of 9000"}, differences)
}

// TestWhatWasMadeHereIsDeletedAndNothingElse: an interface that was there is changed, and stays.
func TestWhatWasMadeHereIsDeletedAndNothingElse(t *testing.T) {
	t.Parallel()
	e := wired(t)
	e.stage(http.MethodPost, "", `{"iface": "vmbr2", "type": "bridge", "comments": "of the team"}`)
	e.must(http.MethodPut, "/network", url.Values{})
	want := wanted()
	want.Interfaces = append(want.Interfaces, hostspec.Interface{Name: "vmbr2", VLANAware: true})
	run, _ := e.networkRun(want)
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, "of the team", e.comment("vmbr2"), "its comment is somebody else's")

	run.Wanted.Interfaces = want.Interfaces[:1]
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Contains(t, e.comment("vmbr1"), "Made by em-infra for site.")

	changed, err := run.Release(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	names := e.interfaces()
	require.Equal(t, []string{"eno1", "eno2", "eno3", "eno4", "vmbr0", "vmbr2"}, names)
	changed, err = run.Release(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
}

// interfaces returns the names of the host's interfaces.
func (e *emulated) interfaces() (names []string) {
	e.t.Helper()
	client, err := e.connection.Client()
	require.NoError(e.t, err)
	var all []pve.NetworkInterface
	require.NoError(e.t, client.Get(e.t.Context(), "/nodes/"+node+"/network", &all))
	for _, one := range all {
		names = append(names, one.Name)
	}
	slices.Sort(names)
	return names
}

// TestTheOperatorIsNotCutOff: neither the interface with the default route nor its port is touched, unless that is allowed by name.
func TestTheOperatorIsNotCutOff(t *testing.T) {
	t.Parallel()
	e := wired(t)
	const before, after = "the network of vmhost is not changed, since a mistake there cuts the operator off: ",
		": change it at the host's console, or allow it with `em-infra up --allow-interface vmhost/INTERFACE` once you have another way in"
	taken, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{{Name: "vmbr1", Ports: []string{"eno1"}}}})
	_, err := taken.Apply(t.Context())
	require.EqualError(t, err, before+"eno1 is on the way to the API (vmbr0 needs it, and vmbr0 has the default route)"+after)

	run, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{{
		Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true, Address: netip.MustParsePrefix("192.168.20.10/24"), Gateway: netip.MustParseAddr("192.168.20.1"),
	}}})
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, before+"vmbr0 is on the way to the API (vmbr0 has the default route)"+after)
	require.Zero(t, e.reloads())

	run.Allowed = []string{"vmhost/vmbr0"}
	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	changed, err = run.Release(t.Context())
	require.NoError(t, err)
	require.False(t, changed, "it was there before, so it stays")
}

// TestADestroyDoesNotCutTheOperatorOff: no interface can be allowed for a destroy, so the interface must leave the way to the API first, or lose the
// mark and stay.
func TestADestroyDoesNotCutTheOperatorOff(t *testing.T) {
	t.Parallel()
	const mark = "Made by em-infra for site."
	e := newHost(t, nil)
	made := hostspec.Interface{Name: "vmbr7", Address: netip.MustParsePrefix("10.7.0.1/24"), Gateway: netip.MustParseAddr("10.7.0.254")}
	run, _ := e.networkRun(hostspec.Network{Node: node, Owner: "site", Interfaces: []hostspec.Interface{made}})
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	_, err = run.Release(t.Context())
	require.EqualError(t, err, `interfaces that this stack has made on vmhost are not deleted, since that cuts the operator off: vmbr7 is on the way to the API (vmbr7 has the default route): `+
		"give the address and the default route to another interface with `em-infra up --allow-interface vmhost/INTERFACE`, or keep the interface by deleting the line \""+mark+"\" from its comment on vmhost under System, Network, and applying that, then run again")

	without := made
	without.Gateway = netip.Addr{}
	run.Wanted.Interfaces, run.Allowed = []hostspec.Interface{without}, []string{"vmhost/vmbr7"}
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	run.Allowed = nil
	changed, err := run.Release(t.Context())
	require.NoError(t, err)
	require.True(t, changed)

	run.Wanted.Interfaces = []hostspec.Interface{made}
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, mark, strings.TrimSpace(e.comment("vmbr7")))
	e.stage(http.MethodPut, "/vmbr7", `{"type": "bridge", "cidr": "10.7.0.1/24", "gateway": "10.7.0.254", "delete": "comments"}`)
	e.must(http.MethodPut, "/network", url.Values{})
	changed, err = run.Release(t.Context())
	require.NoError(t, err)
	require.False(t, changed, "it stays")
}

// TestStagedChangesOfAnotherUserAreLeftAlone also checks that those of a killed run of this stack are continued.
func TestStagedChangesOfAnotherUserAreLeftAlone(t *testing.T) {
	t.Parallel()
	e := wired(t)
	e.stage(http.MethodPost, "", `{"iface": "vmbr9", "type": "bridge"}`)
	run, _ := e.networkRun(wanted())
	_, err := run.Apply(t.Context())
	require.ErrorContains(t, err, "another user has staged changes of the network of vmhost that are not this stack's (vmbr9), and nothing was touched: apply or revert them on vmhost under System, Network, then run up again. They are:\n---")
	require.ErrorContains(t, err, "+iface vmbr9 inet manual")
	require.Zero(t, e.reloads())
	e.stage(http.MethodDelete, "", "")

	e.stage(http.MethodPost, "", `{"iface": "vmbr1", "type": "bridge", "comments": "Made by em-infra for site."}`)
	run, messages := e.networkRun(wanted())
	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, "a run that was killed has staged changes of the network of vmhost: they are part of this one", (*messages)[0])
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)

	// A run that was killed after it had staged a deletion.
	e.stage(http.MethodDelete, "/vmbr1.30", "")
	run.Wanted.Interfaces = run.Wanted.Interfaces[:1]
	changed, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	require.NotContains(t, e.interfaces(), "vmbr1.30")
}

func TestABridgeWithMachinesOnItStays(t *testing.T) {
	t.Parallel()
	e := wired(t)
	run, _ := e.networkRun(wanted())
	_, err := run.Apply(t.Context())
	require.NoError(t, err)
	e.must(http.MethodPost, "/qemu", url.Values{"vmid": {"105"}, "name": {"web"}, "net0": {"virtio,bridge=vmbr1"}})
	_, err = run.Release(t.Context())
	require.EqualError(t, err, "vmbr1 on vmhost is in use by VM 105 (web), and stays: move them to another interface first, then run again")
	require.Contains(t, e.interfaces(), "vmbr1.30", "nothing was staged")

	run.Wanted.Interfaces = []hostspec.Interface{run.Wanted.Interfaces[1]}
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, "vmbr1 on vmhost is in use by VM 105 (web), the interface vmbr1.30, and stays: move them to another interface first, then run again")
}

// TestAReloadThatFailsHalfWay checks that the error states what the file contains and what to do, and that the next run finds the wanted interfaces
// in the file.
func TestAReloadThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	faults := fault.NewSet([32]byte{1}, proxmox.FaultKinds())
	e := newHost(t, func(c *proxmox.Config) { c.Faults = proxmox.NewFaultSet(c.Pace, faults) })
	require.NoError(t, faults.Set(fault.Fault{Name: "reload-fails", Times: 1}))
	run, _ := e.networkRun(wanted())
	_, err := run.Apply(t.Context())
	require.ErrorContains(t, err, "the reload of the network of vmhost failed (command 'ifreload -a' failed: exit code 1): /etc/network/interfaces has the new interfaces, and the kernel perhaps only a part of them: look at the task UPID:vmhost:")
	require.ErrorContains(t, err, "mend what it names, run `ifreload -a` on vmhost, then run up again")
	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
}

// TestAVLANOnWhatTheHostDoesNotHave is refused before anything is staged.
func TestAVLANOnWhatTheHostDoesNotHave(t *testing.T) {
	t.Parallel()
	e := wired(t)
	network := wanted()
	network.Interfaces[1].Name, network.Interfaces[1].Device = "vmbr7.30", "vmbr7"
	run, _ := e.networkRun(network)
	const refusal = "the network of vmhost is not changed, since vmbr7.30 is a VLAN on vmbr7, which the host does not have: correct device of that VLAN, or add vmbr7 to bridges, then run again"
	_, err := run.Foresee(t.Context())
	require.EqualError(t, err, refusal)
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, refusal)
	require.Equal(t, []string{"eno1", "eno2", "eno3", "eno4", "vmbr0"}, e.interfaces())

	network.Interfaces[1].Name, network.Interfaces[1].Device = "eno1.30", "eno1"
	run, _ = e.networkRun(network)
	_, err = run.Foresee(t.Context())
	require.NoError(t, err)
}
