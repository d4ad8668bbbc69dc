package proxmox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const repositories = "/nodes/vmhost/apt/repositories"

// enterpriseFile is the file of the enterprise repository.
func enterpriseFile(release schema.Release) string {
	if release == schema.Release84 {
		return "/etc/apt/sources.list.d/pve-enterprise.list"
	}

	return "/etc/apt/sources.list.d/pve-enterprise.sources"
}

// aptRepositories is what the tests read of the answer.
type aptRepositories struct {
	Digest string
	Files  []struct {
		Path         string
		FileType     string `json:"file-type"`
		Digest       []int
		Repositories []struct {
			Types, URIs, Suites, Components []string
			Options                         []struct {
				Key    string
				Values []string
			}
			Comment string
			Enabled int
		}
	}
	Infos []struct {
		Path          string
		Index         int
		Kind, Message string
	}
	Standard []struct {
		Handle, Name, Description string
		Status                    *int
	} `json:"standard-repos"`
}

// aptLab is a lab of a release, whose token administers it.
func aptLab(t *testing.T, release schema.Release, file string) *lab {
	t.Helper()

	return newLab(t, func(c *proxmox.Config) {
		c.Release, c.StateFile = release, file
		c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
	})
}

func (l *lab) repositories() (shown aptRepositories) {
	l.t.Helper()
	l.ok(http.MethodGet, repositories, nil, &shown)

	return shown
}

// lines returns the repositories by file, one line for each.
func (a aptRepositories) lines() map[string][]string {
	lines := map[string][]string{}

	for _, f := range a.Files {
		for _, r := range f.Repositories {
			line := slices.Concat(r.Types, r.URIs, r.Suites, r.Components)
			for _, o := range r.Options {
				line = append(line, o.Key+"="+o.Values[0])
			}

			state := "+ "
			if r.Enabled == 0 {
				state = "- "
			}

			lines[f.Path] = append(lines[f.Path], state+strings.Join(line, " ")+r.Comment)
		}
	}

	return lines
}

// statuses returns the state of the standard repositories that are configured.
func (a aptRepositories) statuses() map[string]int {
	known := map[string]int{}

	for _, s := range a.Standard {
		if s.Status != nil {
			known[s.Handle] = *s.Status
		}
	}

	return known
}

const (
	archiveKey = " Signed-By=/usr/share/keyrings/proxmox-archive-keyring.gpg"
	debianKey  = " Signed-By=/usr/share/keyrings/debian-archive-keyring.gpg"
)

// TestInstalledRepositories compares what the installers of both releases leave.
func TestInstalledRepositories(t *testing.T) {
	t.Parallel()

	for release, expected := range map[schema.Release]map[string][]string{
		schema.Release84: {
			"/etc/apt/sources.list": {
				"+ deb http://ftp.us.debian.org/debian bookworm main contrib",
				"+ deb http://ftp.us.debian.org/debian bookworm-updates main contrib",
				"+ deb http://security.debian.org bookworm-security main contrib security updates\n",
			},
			"/etc/apt/sources.list.d/ceph.list": {"+ deb https://enterprise.proxmox.com/debian/ceph-quincy bookworm enterprise"},
			enterpriseFile(schema.Release84):    {"+ deb https://enterprise.proxmox.com/debian/pve bookworm pve-enterprise"},
		},
		schema.Release91: {
			"/etc/apt/sources.list.d/ceph.sources": {
				"+ deb https://enterprise.proxmox.com/debian/ceph-squid trixie enterprise" + archiveKey,
			},
			"/etc/apt/sources.list.d/debian.sources": {
				"+ deb http://deb.debian.org/debian/ trixie trixie-updates main contrib non-free-firmware" + debianKey,
				"+ deb http://security.debian.org/debian-security/ trixie-security main contrib non-free-firmware" + debianKey,
			},
			enterpriseFile(schema.Release91): {"+ deb https://enterprise.proxmox.com/debian/pve trixie pve-enterprise" + archiveKey},
		},
	} {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			shown := aptLab(t, release, "").repositories()
			require.Equal(t, expected, shown.lines())
			require.Regexp(t, "^[0-9a-f]{64}$", shown.Digest)
			require.Len(t, shown.Files[0].Digest, 32)

			for _, info := range shown.Infos {
				require.Equal(t, "origin", info.Kind)
				require.Contains(t, []string{"Debian", "Proxmox"}, info.Message)
			}
		})
	}
}

// TestRepositoriesAreAddedAndDisabled leads a host from the enterprise repositories to those without a subscription, and restarts it.
func TestRepositoriesAreAddedAndDisabled(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			file := stateFile(t)
			l := aptLab(t, release, file)
			before := l.repositories()
			ceph, suite, added := "ceph-squid", "trixie", "/etc/apt/sources.list.d/proxmox.sources"
			key, disabled := archiveKey, archiveKey+" Enabled=false"

			if release == schema.Release84 {
				ceph, suite, added = "ceph-quincy", "bookworm", "/etc/apt/sources.list"
				key, disabled = "", ""
			}

			require.Equal(t, map[string]int{"enterprise": 1, ceph + "-enterprise": 1}, before.statuses())

			l.ok(http.MethodPost, repositories, values("index=0 enabled=0 path="+enterpriseFile(release)+" digest="+before.Digest), nil)
			l.ok(http.MethodPut, repositories, values("handle=no-subscription"), nil)

			after := l.repositories()
			require.Equal(t, map[string]int{"enterprise": 0, ceph + "-enterprise": 1, "no-subscription": 1}, after.statuses())
			require.Equal(t, []string{"- deb https://enterprise.proxmox.com/debian/pve " + suite + " pve-enterprise" + disabled},
				after.lines()[enterpriseFile(release)])
			require.Contains(t, after.lines()[added], "+ deb http://download.proxmox.com/debian/pve "+suite+" pve-no-subscription"+key)

			r := l.do(http.MethodPut, repositories, values("handle=test digest="+before.Digest))
			require.Equal(t, "500 detected modified configuration - file changed by other user? Try again.", r.Status)

			var other aptRepositories

			l.ok(http.MethodGet, "/nodes/vmhost2/apt/repositories", nil, &other)
			require.Equal(t, before, other, "another host keeps its own")

			require.NoError(t, l.server.Close())
			require.Equal(t, after, aptLab(t, release, file).repositories())
		})
	}
}

// TestRepositoriesThatAreThere adds what is configured already: a disabled repository of Ceph is enabled, and one of Proxmox VE is then
// in its file twice, as in both releases.
func TestRepositoriesThatAreThere(t *testing.T) {
	t.Parallel()

	const cephFile = "/etc/apt/sources.list.d/ceph.sources"

	l := aptLab(t, schema.Release91, "")
	l.ok(http.MethodPost, repositories, values("index=0 enabled=0 path="+cephFile), nil)
	l.ok(http.MethodPost, repositories, values("index=0 enabled=0 path="+enterpriseFile(schema.Release91)), nil)
	require.Equal(t, map[string]int{"enterprise": 0, "ceph-squid-enterprise": 0}, l.repositories().statuses())

	l.ok(http.MethodPut, repositories, values("handle=ceph-squid-enterprise"), nil)
	l.ok(http.MethodPut, repositories, values("handle=ceph-squid-enterprise"), nil)
	l.ok(http.MethodPut, repositories, values("handle=enterprise"), nil)

	lines := l.repositories().lines()
	require.Equal(t, []string{
		"+ deb https://enterprise.proxmox.com/debian/ceph-squid trixie enterprise" + archiveKey + " Enabled=true",
	}, lines[cephFile])
	require.Equal(t, []string{
		"- deb https://enterprise.proxmox.com/debian/pve trixie pve-enterprise" + archiveKey + " Enabled=false",
		"+ deb https://enterprise.proxmox.com/debian/pve trixie pve-enterprise" + archiveKey,
	}, lines[enterpriseFile(schema.Release91)])
	require.Equal(t, 1, l.repositories().statuses()["enterprise"], "enabled anywhere is enabled")
}

func TestRefusedRepositories(t *testing.T) {
	t.Parallel()

	older, newer := aptLab(t, schema.Release84, ""), aptLab(t, schema.Release91, "")

	for name, test := range map[string]struct {
		l                     *lab
		verb, params, problem string
	}{
		"a repository of an older release": {
			newer, http.MethodPut, "handle=ceph-reef-enterprise", "error: unknown variant `ceph-reef-enterprise`, expected one of `enterprise`, " +
				"`no-subscription`, `test`, `ceph-squid-enterprise`, `ceph-squid-no-subscription`, `ceph-squid-test`",
		},
		"an unknown repository": {
			older, http.MethodPut, "handle=main", "error: unknown variant `main`, expected one of `enterprise`, `no-subscription`, `test`, " +
				"`ceph-quincy-enterprise`, `ceph-quincy-no-subscription`, `ceph-quincy-test`, `ceph-reef-enterprise`, " +
				"`ceph-reef-no-subscription`, `ceph-reef-test`, `ceph-squid-enterprise`, `ceph-squid-no-subscription`, `ceph-squid-test`",
		},
		"a digest that is none": {
			newer, http.MethodPut, "handle=test digest=abc", `error: invalid value: string "abc", expected valid configuration digest`,
		},
		"a file of an older release": {
			newer, http.MethodPost, "path=/etc/apt/sources.list index=0 enabled=0", "invalid path - /etc/apt/sources.list",
		},
		"an index too high": {older, http.MethodPost, "path=/etc/apt/sources.list index=3 enabled=0", "invalid index - 3"},
		"an index below zero": {
			older, http.MethodPost, "path=/etc/apt/sources.list index=-1 enabled=0", "error: invalid value: integer `-1`, expected usize",
		},
		"an old digest": {
			older, http.MethodPost, "path=/etc/apt/sources.list index=0 enabled=0 digest=" + strings.Repeat("0", 64),
			"detected modified configuration - file changed by other user? Try again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "500 "+test.problem, test.l.do(test.verb, repositories, values(test.params)).Status)
		})
	}
}

// TestOtherPeoplesClientSetsRepositories does with an independent client what the provider does.
func TestOtherPeoplesClientSetsRepositories(t *testing.T) {
	t.Parallel()

	l := aptLab(t, schema.Release91, "")
	c := otherClient(l)

	require.NoError(t, c.Put(t.Context(), repositories, map[string]string{"handle": "ceph-squid-no-subscription"}, nil))
	require.NoError(t, c.Post(t.Context(), repositories,
		map[string]any{"path": "/etc/apt/sources.list.d/ceph.sources", "index": 0, "enabled": 0}, nil))

	var shown aptRepositories

	require.NoError(t, c.Get(t.Context(), repositories, &shown))
	require.Equal(t, map[string]int{"enterprise": 1, "ceph-squid-enterprise": 0, "ceph-squid-no-subscription": 1}, shown.statuses())
}
