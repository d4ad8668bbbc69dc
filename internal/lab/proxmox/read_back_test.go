package proxmox_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// TestDescriptionIsReadBackWithoutItsLastLines checks that white space at the end of a description is lost when it is read,
// which a client that compares the two notices.
func TestDescriptionIsReadBackWithoutItsLastLines(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", url.Values{"vmid": {"101"}, "description": {"a \nb \n\n"}})
	require.Equal(t, "a \nb", l.config("101")["description"])
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", url.Values{"description": {"c\n"}}, nil)
	require.Equal(t, "c", l.config("101")["description"])
}

// TestNothingToBootFrom checks the boot order of a VM without devices.
func TestNothingToBootFrom(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))
	require.Equal(t, " ", l.config("101")["boot"])
}

// TestClusterOptionsAreObjects checks that options that are written as property strings are read as objects.
func TestClusterOptionsAreObjects(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) { c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil })
	l.ok(http.MethodPut, "/cluster/options", url.Values{
		"crs": {"ha=static,ha-rebalance-on-start=1"}, "migration": {"insecure,network=10.0.0.0/24"}, "keyboard": {"de"},
		"registered-tags": {"a;b"}, "user-tag-access": {"user-allow=list,user-allow-list=c;d"}, "bwlimit": {"clone=1024"},
	}, nil)

	var options map[string]any

	l.ok(http.MethodGet, "/cluster/options", nil, &options)
	require.Equal(t, map[string]any{
		"crs":             map[string]any{"ha": "static", "ha-rebalance-on-start": 1.0},
		"migration":       map[string]any{"type": "insecure", "network": "10.0.0.0/24"},
		"registered-tags": []any{"a", "b"},
		"user-tag-access": map[string]any{"user-allow": "list", "user-allow-list": []any{"c", "d"}},
		"bwlimit":         "clone=1024", "keyboard": "de", "mac_prefix": "BC:24:11", "description": "",
		"allowed-tags": []any{"a", "b", "c", "d"},
	}, options)
}

// TestPoolsNameThemselves checks that both forms of a pool are the same, and that an empty pool has an empty list.
func TestPoolsNameThemselves(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.ok(http.MethodPost, "/pools", values("poolid=k3s"), nil)
	require.JSONEq(t, `{"poolid":"k3s","members":[]}`, string(l.do(http.MethodGet, "/pools/k3s", nil).Data))
	require.JSONEq(t, `[{"poolid":"k3s","members":[]}]`, string(l.do(http.MethodGet, "/pools?poolid=k3s", nil).Data))

	var pools []map[string]any

	l.ok(http.MethodGet, "/pools", nil, &pools)
	require.Contains(t, pools, map[string]any{"poolid": "k3s"})
}

// TestTokensComments checks the effect of an empty comment: none on 8; on 9 it removes the comment, as delete does.
func TestTokensComments(t *testing.T) {
	t.Parallel()

	for release, after := range map[schema.Release]string{schema.Release84: "x", schema.Release91: ""} {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			l := newLab(t, func(c *proxmox.Config) {
				c.Release, c.Tokens[0].Role, c.Tokens[0].Privileges = release, "Administrator", nil
			})
			l.ok(http.MethodPost, "/access/users", values("userid=ci@pve"), nil)
			l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", values("comment=x"), nil)

			var token struct{ Comment string }

			l.ok(http.MethodPut, "/access/users/ci@pve/token/deploy", url.Values{"comment": {""}}, &token)
			require.Equal(t, after, token.Comment)
		})
	}
}

func TestTokensCommentIsDeletedByName(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) {
		c.Release, c.Tokens[0].Role, c.Tokens[0].Privileges = schema.Release91, "Administrator", nil
	})
	l.ok(http.MethodPost, "/access/users", values("userid=ci@pve"), nil)
	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", values("comment=x"), nil)
	require.Equal(t, map[string]string{"delete": "unknown option 'expire'"},
		l.do(http.MethodPut, "/access/users/ci@pve/token/deploy", values("delete=expire")).Errors)

	var token struct{ Comment string }

	l.ok(http.MethodPut, "/access/users/ci@pve/token/deploy", values("delete=comment"), &token)
	require.Empty(t, token.Comment)
}

// TestVolumesHaveTheSizeOfTheirStorage checks the size of the firmware's 528 KiB in each kind of storage.
func TestVolumesHaveTheSizeOfTheirStorage(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for storage, drive := range map[string]string{
		"tank": "tank:vm-101-disk-0,efitype=4m,size=1M", "thin": "thin:vm-101-disk-0,efitype=4m,size=4M",
		"nas": "nas:101/vm-101-disk-0.raw,efitype=4m,size=528K",
	} {
		l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 efidisk0=file="+storage+":1,efitype=4m"))
		require.Equal(t, drive, l.config("101")["efidisk0"])
		l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)
	}
}

// TestNamesOfVolumes checks the errors for invalid volume names.
func TestNamesOfVolumes(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for path, text := range map[string]string{
		"local/content/nothing":    "500 unable to parse directory volume name 'nothing'",
		"local/content/iso%2Fa.ra": "500 unable to parse directory volume name 'iso/a.ra'",
		"nas/content/101%2Fdisk":   "500 unable to parse volume filename 'disk'",
		"tank/content/disk-0":      "500 unable to parse zfs volume name 'disk-0'",
		"thin/content/disk-0":      "500 unable to parse lvm volume name 'disk-0'",
	} {
		for _, verb := range []string{http.MethodGet, http.MethodDelete} {
			require.Equal(t, text, l.do(verb, "/nodes/vmhost/storage/"+path, nil).Status, "%s %s", verb, path)
		}
	}
}

// TestEmptyStoragesSaySo checks that an empty storage has a used fraction of 0 in the response.
func TestEmptyStoragesSaySo(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	var list []map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/storage?storage=tank", nil, &list)
	require.Contains(t, list[0], "used_fraction")
	require.Zero(t, list[0]["used_fraction"])
}

// TestTextsOfUsersAreTrimmed checks how Proxmox VE reads texts with spaces at their ends, which a client that compares the
// two notices: a comment of one space is empty.
func TestTextsOfUsersAreTrimmed(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	comment := func(text string) url.Values { return url.Values{"comment": {text}} }
	with := func(values url.Values, name, value string) url.Values {
		values.Set(name, value)
		return values
	}

	l.ok(http.MethodPost, "/access/groups", with(comment(" "), "groupid", "ops"), nil)
	l.ok(http.MethodPost, "/access/users", with(with(comment(" CI of ours  "), "userid", "ci@pve"), "lastname", " "), nil)

	var made struct{ Info struct{ Comment string } }

	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", comment(" a "), &made)
	require.Equal(t, " a ", made.Info.Comment, "the answer does not come from the file")
	l.ok(http.MethodPost, "/pools", with(comment("0"), "poolid", "k3s"), nil)

	read := func(path string) map[string]any {
		var got map[string]any

		l.ok(http.MethodGet, path, nil, &got)

		return got
	}

	require.NotContains(t, read("/access/groups/ops"), "comment")
	require.Equal(t, "CI of ours", read("/access/users/ci@pve")["comment"])
	require.NotContains(t, read("/access/users/ci@pve"), "lastname")
	require.Equal(t, "a", read("/access/users/ci@pve/token/deploy")["comment"])
	require.NotContains(t, read("/pools/k3s"), "comment")

	l.ok(http.MethodPut, "/access/groups/ops", comment("\tmine\n"), nil)
	require.Equal(t, "\tmine\n", read("/access/groups/ops")["comment"], "what is escaped in the file stays")
	l.ok(http.MethodPut, "/pools/k3s", comment(" of k3s"), nil)
	require.Equal(t, "of k3s", read("/pools/k3s")["comment"])
	l.ok(http.MethodPut, "/access/users/ci@pve/token/deploy", comment("b "), nil)
	require.Equal(t, "b", read("/access/users/ci@pve/token/deploy")["comment"])
}
