package pve_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

func nasNames() hostspec.HostNames {
	return hostspec.HostNames{Address: netip.MustParseAddr("192.168.20.5"), Names: []string{"nas.home.example", "nas"}}
}

// read returns an answer of the host's API.
func read[T any](t *testing.T, e *emulated, path string) (answer T) {
	t.Helper()
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Get(t.Context(), path, &answer))
	return answer
}

// changes returns the calls so far that have changed what the host or the cluster is configured with, as VERB endpoint.
func (e *emulated) changes() (writes []string) {
	for _, call := range e.server.Calls() {
		if call.Write() {
			writes = append(writes, call.Verb+" "+call.Endpoint)
		}
	}
	return writes
}

// TestTheSettingsOfAHost: they are set, found unchanged, corrected after a change by hand, and the names are removed with the stack.
func TestTheSettingsOfAHost(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := pve.HostSettingsRun{Connection: e.connection, Wanted: hostspec.HostSettings{
		Node: node, TimeZone: "Europe/Berlin", Names: []hostspec.HostNames{nasNames()},
		Repositories: []hostspec.Repository{{Handle: "no-subscription", Enabled: true}, {Handle: "enterprise"}},
	}}
	mark := len(e.changes())
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"time zone: UTC instead of Europe/Berlin", "/etc/hosts: 192.168.20.5: none instead of nas.home.example nas",
		"repository no-subscription: off instead of on", "repository enterprise: on instead of off",
	}, foreseen)
	require.Len(t, e.changes(), mark, "it was only looked at")
	run.Made, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"192.168.20.5 nas.home.example nas"}, run.Made)
	const base = " /nodes/{node}/"
	first := []string{"PUT" + base + "time", "PUT" + base + "apt/repositories", "POST" + base + "apt/repositories", "POST" + base + "hosts"}
	require.Equal(t, first, e.changes()[mark:])
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	_, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, first, e.changes()[mark:], "nothing to do: nothing is called")

	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/nodes/"+node+"/time", map[string]string{"timezone": "UTC"}, nil))
	entries := e.repositoriesOf("pve-enterprise")
	_, err = pve.HostSettingsRun{Connection: e.connection, Wanted: hostspec.HostSettings{
		Node: node, Repositories: []hostspec.Repository{{Handle: "enterprise", Enabled: true}},
	}}.Apply(t.Context())
	require.NoError(t, err)
	require.Equal(t, entries, e.repositoriesOf("pve-enterprise"), "the entry that is there is enabled, and no second one is added")
	differences, err = run.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"time zone: UTC instead of Europe/Berlin", "repository enterprise: on instead of off"}, differences)
	_, err = run.Apply(t.Context())
	require.NoError(t, err)

	before := read[struct{ Data string }](t, e, "/nodes/"+node+"/hosts").Data
	require.NoError(t, run.Release(t.Context()))
	after := read[struct{ Data string }](t, e, "/nodes/"+node+"/hosts").Data
	require.Equal(t, strings.Replace(before, "192.168.20.5 nas.home.example nas\n", "", 1), after)
	require.Equal(t, "Europe/Berlin", read[struct{ TimeZone string }](t, e, "/nodes/"+node+"/time").TimeZone, "a host always has one")
}

// repositoriesOf returns how many entries of the host's files have a component.
func (e *emulated) repositoriesOf(component string) (entries int) {
	type repositories struct {
		Files []struct {
			Repositories []struct{ Components []string }
		}
	}
	for _, file := range read[repositories](e.t, e, "/nodes/"+node+"/apt/repositories").Files {
		for _, one := range file.Repositories {
			if slices.Contains(one.Components, component) {
				entries++
			}
		}
	}
	return entries
}

// TestNamesInEtcHosts checks the file for each list of wanted names, and which lines belong to this stack.
func TestNamesInEtcHosts(t *testing.T) {
	t.Parallel()
	const kept = "127.0.0.1 localhost\n# by hand\n192.168.20.2 vmhost.home.example vmhost\n"
	cases := map[string]struct {
		before  string
		made    []string
		wanted  []hostspec.HostNames
		after   string
		isMade  []string
		refusal string
	}{
		"another line":                  {kept, nil, []hostspec.HostNames{nasNames()}, kept + "192.168.20.5 nas.home.example nas\n", []string{"192.168.20.5 nas.home.example nas"}, ""},
		"a line without its end":        {"127.0.0.1 localhost", nil, []hostspec.HostNames{nasNames()}, "127.0.0.1 localhost\n192.168.20.5 nas.home.example nas\n", []string{"192.168.20.5 nas.home.example nas"}, ""},
		"there before":                  {kept + "192.168.20.5\tnas.home.example  nas\n", nil, []hostspec.HostNames{nasNames()}, "", nil, ""},
		"other names there":             {kept + "192.168.20.5 box\n", nil, []hostspec.HostNames{nasNames()}, kept + "192.168.20.5 nas.home.example nas\n", nil, ""},
		"a name moves":                  {kept + "192.168.20.4 nas old\n192.168.20.3 nas\n", nil, []hostspec.HostNames{nasNames()}, kept + "192.168.20.4 old\n192.168.20.5 nas.home.example nas\n", []string{"192.168.20.5 nas.home.example nas"}, ""},
		"the other family stays":        {kept + "fd00::4 nas\n", nil, []hostspec.HostNames{nasNames()}, kept + "fd00::4 nas\n192.168.20.5 nas.home.example nas\n", []string{"192.168.20.5 nas.home.example nas"}, ""},
		"made here and left out":        {kept + "192.168.20.4 old\n", []string{"192.168.20.4 old"}, []hostspec.HostNames{nasNames()}, kept + "192.168.20.5 nas.home.example nas\n", []string{"192.168.20.5 nas.home.example nas"}, ""},
		"there before, left out":        {kept + "192.168.20.4 old\n", []string{}, nil, "", nil, ""},
		"made here, with a hand's name": {kept + "192.168.20.4 old hand\n", []string{"192.168.20.4 old"}, nil, kept + "192.168.20.4 hand\n", nil, ""},
		"made here, now the host's own": {kept + "192.168.20.4 old vmhost\n", []string{"192.168.20.4 old"}, nil, "", nil, ""},
		"two lines of an address":       {kept + "192.168.20.5 nas.home.example\n192.168.20.5 nas extra\n", nil, []hostspec.HostNames{nasNames()}, kept + "192.168.20.5 nas.home.example nas\n", nil, ""},
		"the address of the host":       {kept, nil, []hostspec.HostNames{{Address: netip.MustParseAddr("192.168.20.2"), Names: []string{"nas"}}}, "", nil, "/etc/hosts of vmhost has 192.168.20.2 for the host itself (vmhost.home.example vmhost), and Proxmox VE needs that line: take 192.168.20.2 out of names of vmhost"},
		"a name of the host":            {"192.168.20.2 vmhost nas\n", nil, []hostspec.HostNames{nasNames()}, "", nil, "/etc/hosts of vmhost has a name of 192.168.20.5 for the host itself (192.168.20.2 vmhost nas), and Proxmox VE needs that line: take the name out of names of vmhost"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newHost(t, nil)
			client, err := e.connection.Client()
			require.NoError(t, err)
			require.NoError(t, client.Post(t.Context(), "/nodes/"+node+"/hosts", map[string]string{"data": c.before}, nil))
			mark := len(e.changes())
			made, err := pve.HostSettingsRun{Connection: e.connection, Wanted: hostspec.HostSettings{Node: node, Names: c.wanted}, Made: c.made}.Apply(t.Context())
			if c.refusal != "" {
				require.EqualError(t, err, c.refusal)
				require.Len(t, e.changes(), mark)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.isMade, made)
			after := read[struct{ Data string }](t, e, "/nodes/"+node+"/hosts").Data
			if c.after == "" {
				require.Equal(t, c.before, after)
				require.Len(t, e.changes(), mark, "the file is not written")
				return
			}
			require.Equal(t, c.after, after)
		})
	}
}

// TestSettingsThatTheHostRefuses checks that each refusal is one sentence that states what to do.
func TestSettingsThatTheHostRefuses(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	run := pve.HostSettingsRun{Connection: e.connection, Wanted: hostspec.HostSettings{Node: node, TimeZone: "Europe/Bonn"}}
	_, err := run.Apply(t.Context())
	require.EqualError(t, err, "vmhost does not change its time zone (bad request: 400 Parameter verification failed. - {\"timezone\":\"No such timezone\"}): see `timedatectl list-timezones` on the host, then run up again")

	run.Wanted = hostspec.HostSettings{Node: node, Repositories: []hostspec.Repository{{Handle: "ceph-hammer-test", Enabled: true}}}
	_, err = run.Foresee(t.Context())
	require.ErrorContains(t, err, "vmhost knows no standard repository ceph-hammer-test: choose among enterprise, no-subscription, test, ")
	run.Wanted.Repositories[0].Enabled = false
	differences, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences, "one that the host does not have is off")

	weak := newHostFor(t, "Sys.Audit")
	run = pve.HostSettingsRun{Connection: weak.connection, Wanted: hostspec.HostSettings{Node: node, TimeZone: "Europe/Berlin"}}
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, "the token may not change the settings of vmhost: give it the privilege Sys.Modify on /nodes/vmhost, then run again")
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, "the token may not change the settings of vmhost: give it the privilege Sys.Modify on /nodes/vmhost, then run up again")
	blind := newHostFor(t, "VM.Audit")
	run.Connection = blind.connection
	_, err = run.Differences(t.Context())
	require.EqualError(t, err, "the time zone of vmhost cannot be read: give the token the privilege Sys.Audit on /nodes/vmhost, then run again")
}

// TestOptionsOfTheCluster: they are set by one call, and others stay.
func TestOptionsOfTheCluster(t *testing.T) {
	t.Parallel()
	e := newHost(t, nil)
	client, err := e.connection.Client()
	require.NoError(t, err)
	require.NoError(t, client.Put(t.Context(), "/cluster/options", map[string]string{"language": "de", "migration": "insecure"}, nil))
	mark := len(e.changes())
	run := pve.OptionsRun{Connection: e.connection, Wanted: hostspec.Options{
		{Name: "keyboard", Value: "de"}, {Name: "migration", Value: "type=secure,network=10.30.0.0/24"}, {Name: "bwlimit", Value: "clone=102400,default=0"},
		{Name: "max_workers", Value: "2"}, {Name: "next-id", Value: "lower=1000,upper=1000000"},
	}}
	foreseen, err := run.Foresee(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{
		"keyboard: en-us instead of de", "migration: type=insecure instead of network=10.30.0.0/24,type=secure",
		"bwlimit: none instead of clone=102400,default=0", "max_workers: none instead of 2", "next-id: none instead of lower=1000,upper=1000000",
	}, foreseen)
	changed, err := run.Apply(t.Context())
	require.NoError(t, err)
	require.True(t, changed)
	differences, err := run.Differences(t.Context())
	require.NoError(t, err)
	require.Empty(t, differences)
	changed, err = run.Apply(t.Context())
	require.NoError(t, err)
	require.False(t, changed)
	require.Equal(t, []string{http.MethodPut + " /cluster/options"}, e.changes()[mark:])
	require.Equal(t, "de", read[struct{ Language string }](t, e, "/cluster/options").Language, "what the inventory leaves out stays")

	require.NoError(t, client.Put(t.Context(), "/cluster/options", map[string]string{"http_proxy": "http://bob:made-up@proxy.example:3128"}, nil))
	differences, err = pve.OptionsRun{Connection: e.connection, Wanted: hostspec.Options{{Name: "http_proxy", Value: "http://proxy.example:3128"}}}.Differences(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"http_proxy: http://SOMEBODY@proxy.example:3128 instead of http://proxy.example:3128"}, differences, "its password is not shown")

	weak := newHostFor(t, "Sys.Audit")
	run.Connection = weak.connection
	_, err = run.Foresee(t.Context())
	require.EqualError(t, err, "the token may not change the options of the cluster: give it the privilege Sys.Modify on /, then run again")
	_, err = run.Apply(t.Context())
	require.EqualError(t, err, "the options of the cluster cannot be changed, and are as they were (the token lacks the privilege Sys.Modify on /): mend that, then run up again")
	blind := newHostFor(t, "VM.Audit")
	run.Connection = blind.connection
	_, err = run.Differences(t.Context())
	require.EqualError(t, err, "the options of the cluster cannot be read: give the token the privilege Sys.Audit on /, then run again")
}
