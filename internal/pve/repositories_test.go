package pve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// upgradedHost are the repositories of a host that was upgraded from 8 to 9 by hand: entries of both suites, one of sources, and one by the older
// address.
const upgradedHost = `{"digest": "made-up", "files": [
	{"path": "/etc/apt/sources.list", "repositories": [
		{"Types": ["deb"], "URIs": ["http://download.proxmox.com/debian/pve"], "Suites": ["bookworm"], "Components": ["pve-no-subscription"], "Enabled": 0},
		{"Types": ["deb-src"], "URIs": ["http://download.proxmox.com/debian/pve"], "Suites": ["trixie"], "Components": ["pve-no-subscription"], "Enabled": 0},
		{"Types": ["deb"], "URIs": ["http://mirror.example/debian/pve"], "Suites": ["trixie"], "Components": ["pve-no-subscription"], "Enabled": 1}
	]},
	{"path": "/etc/apt/sources.list.d/old.sources", "repositories": [
		{"Types": ["deb"], "URIs": ["https://enterprise.proxmox.com/debian/"], "Suites": ["trixie"], "Components": ["pve-enterprise"], "Enabled": 1},
		{"Types": ["deb"], "URIs": ["http://download.proxmox.com/debian/ceph-squid"], "Suites": ["trixie"], "Components": ["test"], "Enabled": 0}
	]}
]}`

// TestTheNextCallForARepository checks that an entry is switched where it is, that an entry of another suite, of sources or of a mirror does not
// count, and that a missing entry is added.
func TestTheNextCallForARepository(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handle string
		on     bool
		suite  string
		call   string
	}{
		"only another suite and sources":   {"no-subscription", true, "trixie", "PUT no-subscription"},
		"of the suite of the host":         {"no-subscription", true, "bookworm", "POST /etc/apt/sources.list 0 1"},
		"off already":                      {"no-subscription", false, "bookworm", ""},
		"by the older address":             {"enterprise", false, "trixie", "POST /etc/apt/sources.list.d/old.sources 0 0"},
		"on already":                       {"enterprise", true, "trixie", ""},
		"of Ceph":                          {"ceph-squid-test", true, "trixie", "POST /etc/apt/sources.list.d/old.sources 1 1"},
		"of another release of Ceph":       {"ceph-reef-test", true, "trixie", "PUT ceph-reef-test"},
		"one that is not there, off":       {"test", false, "trixie", ""},
		"the test repository is no Ceph's": {"test", true, "trixie", "PUT test"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := pve.NextRepositoryCall(upgradedHost, c.handle, c.on, c.suite)
			require.NoError(t, err)
			require.Equal(t, c.call, call)
		})
	}
}
