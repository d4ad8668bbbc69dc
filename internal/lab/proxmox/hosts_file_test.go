package proxmox_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// installedHostsFile is what the installer leaves on the test's first host.
const installedHostsFile = `127.0.0.1 localhost.localdomain localhost
192.168.20.2 vmhost.home.example vmhost

# The following lines are desirable for IPv6 capable hosts

::1     ip6-localhost ip6-loopback
fe00::0 ip6-localnet
ff00::0 ip6-mcastprefix
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
ff02::3 ip6-allhosts
`

// shownHosts is the file of a host in the API.
type shownHosts struct{ Data, Digest string }

func hostsFileOf(l *lab, node string) (shown shownHosts) {
	l.t.Helper()
	l.ok(http.MethodGet, "/nodes/"+node+"/hosts", nil, &shown)

	return shown
}

// TestHostsFile follows the file of a host from its installation over two writers to a restart.
func TestHostsFile(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	start := func() *lab {
		return newLab(t, func(c *proxmox.Config) {
			c.StateFile, c.Tokens[0].Role, c.Tokens[0].Privileges = file, "Administrator", nil
			c.Hosts[1].Bridges[0].Address = netip.MustParsePrefix("10.0.0.7/24")
		})
	}
	l := start()
	before := hostsFileOf(l, "vmhost")
	require.Equal(t, shownHosts{installedHostsFile, api.Digest(installedHostsFile)}, before)
	require.Contains(t, hostsFileOf(l, "vmhost2").Data, "\n10.0.0.7 vmhost2.home.example vmhost2\n")

	const changed = "# by hand: ä\n\n127.0.0.1 localhost\n\t # kept\n10.0.0.2\tvmhost.lan  vmhost\n::1 localhost\n"

	l.ok(http.MethodPost, "/nodes/vmhost/hosts", url.Values{"data": {changed}, "digest": {before.Digest}}, nil)
	require.Equal(t, changed, hostsFileOf(l, "vmhost").Data)
	require.Contains(t, hostsFileOf(l, "vmhost2").Data, "vmhost2.home.example", "another host keeps its own")

	r := l.do(http.MethodPost, "/nodes/vmhost/hosts", url.Values{"data": {"127.0.0.1 localhost\n"}, "digest": {before.Digest}})
	require.Equal(t, "500 detected modified configuration - file changed by other user? Try again.", r.Status)

	require.NoError(t, l.server.Close())

	l = start()
	require.Equal(t, changed, hostsFileOf(l, "vmhost").Data)
	l.ok(http.MethodPost, "/nodes/vmhost/hosts", url.Values{"data": {"127.0.0.1 localhost\n"}}, nil)
	require.Equal(t, "127.0.0.1 localhost\n", hostsFileOf(l, "vmhost").Data, "without a digest the last writer wins")
}

func TestHostsFilesThatAreNone(t *testing.T) {
	t.Parallel()

	l := administrator(t)

	for name, test := range map[string]struct{ data, problem string }{
		"no address":             {"localhost 127.0.0.1", "Invalid IP 'localhost'"},
		"an address that is cut": {"127.0.0 localhost", "Invalid IP '127.0.0'"},
		"a zone":                 {"fe80::1%eth0 a", "Invalid IP 'fe80::1%eth0'"},
		"an indented address":    {" 127.0.0.1 localhost", "Invalid IP ''"},
		"an underscore":          {"10.0.0.1 a_b", "Invalid Hostname 'a_b'"},
		"a comment after a name": {"10.0.0.1 a # b", "Invalid Hostname '#'"},
		"the second line":        {"10.0.0.1 a\n10.0.0.2 b,c\n", "Invalid Hostname 'b,c'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(http.MethodPost, "/nodes/vmhost/hosts", url.Values{"data": {test.data}})
			require.Equal(t, "400 Parameter verification failed.", r.Status)
			require.Equal(t, map[string]string{"data": test.problem}, r.Errors)
		})
	}

	require.Equal(t, installedHostsFile, hostsFileOf(l, "vmhost").Data)
}

// TestOtherPeoplesClientSetsHosts writes the time zone and the hosts file with an independent client.
func TestOtherPeoplesClientSetsHosts(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	ctx, c := t.Context(), otherClient(l)

	require.NoError(t, c.Put(ctx, "/nodes/vmhost/time", map[string]string{"timezone": "Europe/Berlin"}, nil))
	require.NoError(t, c.Post(ctx, "/nodes/vmhost/hosts", map[string]string{"data": "127.0.0.1 localhost\n"}, nil))

	var shown shownHosts

	require.NoError(t, c.Get(ctx, "/nodes/vmhost/hosts", &shown))
	require.Equal(t, "127.0.0.1 localhost\n", shown.Data)
}
