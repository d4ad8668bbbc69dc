package proxmox_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

func (l *lab) options() map[string]any {
	l.t.Helper()

	options := map[string]any{}
	l.ok(http.MethodGet, "/cluster/options", nil, &options)

	return options
}

// TestClusterOptions sets options of every form, unsets them, and restarts the host.
func TestClusterOptions(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	start := func() *lab {
		return newLab(t, func(c *proxmox.Config) {
			c.Release, c.StateFile = schema.Release91, file
			c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		})
	}
	l := start()
	installed := map[string]any{"keyboard": "en-us", "mac_prefix": "BC:24:11", "description": "", "allowed-tags": []any{}}
	require.Equal(t, installed, l.options())

	l.ok(http.MethodPut, "/cluster/options", url.Values{
		"mac_prefix": {"02:00"}, "description": {"one\ntwo"}, "console": {"applet"}, "max_workers": {"4"}, "migration_unsecure": {"1"},
		"next-id": {"lower=500,upper=600"}, "ha": {"shutdown_policy=migrate"}, "tag-style": {"case-sensitive=1,shape=none"},
		"bwlimit": {"clone=1024,migration=2048"}, "registered-tags": {"z;a"}, "email_from": {"a@example.com"}, "language": {"de"},
		"http_proxy": {"http://10.0.0.1:3128"},
	}, nil)

	changed := map[string]any{
		"keyboard": "en-us", "mac_prefix": "02:00", "description": "one\ntwo\n", "console": "html5", "max_workers": "4",
		"migration": map[string]any{"type": "insecure"}, "next-id": map[string]any{"lower": "500", "upper": "600"},
		"ha": map[string]any{"shutdown_policy": "migrate"}, "tag-style": map[string]any{"case-sensitive": 1.0, "shape": "none"},
		"bwlimit": "clone=1024,migration=2048", "registered-tags": []any{"z", "a"}, "allowed-tags": []any{"a", "z"},
		"email_from": "a@example.com", "language": "de", "http_proxy": "http://10.0.0.1:3128",
	}
	require.Equal(t, changed, l.options())

	var next string

	l.ok(http.MethodGet, "/cluster/nextid", nil, &next)
	require.Equal(t, "500", next)

	require.NoError(t, l.server.Close())

	l = start()
	require.Equal(t, changed, l.options())
	l.ok(http.MethodPut, "/cluster/options", values("mac_prefix=bc:24:11 keyboard=de delete=description,console,max_workers,migration,"+
		"next-id,ha,tag-style,bwlimit,registered-tags,email_from,language,http_proxy,keyboard,no-such"), nil)

	delete(installed, "keyboard")
	require.Equal(t, installed, l.options(), "what is set and deleted in one call is deleted")
}

func TestRefusedClusterOptions(t *testing.T) {
	t.Parallel()

	l := administrator(t)

	for name, test := range map[string]struct{ params, key, problem string }{
		"a word that is none":   {"keyboard=klingon", "keyboard", "value 'klingon' does not have a value in the enumeration "},
		"a field that is none":  {"migration=secure,via=mail", "migration", "invalid format - invalid key in comma-separated list property: via\n"},
		"a network that is one": {"migration=secure,network=10.0.0.1", "migration", "invalid format - format error\nnetwork: invalid format - "},
		"a proxy without http":  {"http_proxy=10.0.0.1:3128", "http_proxy", "value does not match the regex pattern"},
		"too few workers":       {"max_workers=0", "max_workers", "value must have a minimum value of 1"},
		"a prefix of many":      {"mac_prefix=03:00", "mac_prefix", "invalid format - value is not a valid unicast MAC address prefix"},
		"an unknown option":     {"colour=red", "colour", "property is not defined in schema and the schema does not allow additional properties"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(http.MethodPut, "/cluster/options", values(test.params))
			require.Equal(t, "400 Parameter verification failed.", r.Status)
			require.Contains(t, r.Errors[test.key], test.problem)
		})
	}

	r := l.do(http.MethodPut, "/cluster/options", url.Values{"next-id": {"lower=700,upper=600"}})
	require.Equal(t, "500 lower (700) <= upper (600) boundary rule broken", r.Status)
}

// TestClusterOptionsOfOthers: a user who may not audit the cluster sees how consoles and tags look, and the tags that he may use.
func TestClusterOptionsOfOthers(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	full := newLab(t, func(c *proxmox.Config) {
		c.StateFile, c.Tokens[0].Role, c.Tokens[0].Privileges = file, "Administrator", nil
	})
	full.ok(http.MethodPut, "/cluster/options", url.Values{
		"console": {"html5"}, "tag-style": {"shape=full"}, "registered-tags": {"prod"}, "user-tag-access": {"user-allow-list=mine"},
	}, nil)
	full.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 tags=prod;seen"))
	full.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 tags=hidden"))
	require.Equal(t, []any{"hidden", "mine", "prod", "seen"}, full.options()["allowed-tags"])
	require.NoError(t, full.server.Close())

	l := newLab(t, func(c *proxmox.Config) {
		c.StateFile = file
		c.Tokens[0].ID, c.Tokens[0].Path, c.Tokens[0].Role = "other@pve!second", "/vms/101", "Seer"
		c.Tokens[0].Privileges = []string{"VM.Audit"}
	})
	l.token = "other@pve!second" + l.token[len(operator):]

	require.Equal(t, map[string]any{
		"console": "html5", "tag-style": map[string]any{"shape": "full"}, "allowed-tags": []any{"mine", "seen"},
	}, l.options())
	require.Equal(t, "403 Permission check failed (/, Sys.Modify)", l.do(http.MethodPut, "/cluster/options", values("keyboard=de")).Status)
}
