package proxmox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// TestReturnsAreAsDeclared calls every method that reads, in both releases, and compares the response with the release's own
// declaration.
func TestReturnsAreAsDeclared(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		described, err := schema.Load(release)
		require.NoError(t, err)

		l, upid := populated(t, release)
		image := images(t) + "/nocloud-amd64.iso"

		for _, e := range proxmox.Endpoints() {
			if e.Verb != http.MethodGet {
				continue
			}

			t.Run(string(release)+" "+e.Path, func(t *testing.T) {
				t.Parallel()

				r := l.do(e.Verb, fill(e.Path, upid), url.Values{})

				if strings.Contains(e.Path, "/agent/") {
					require.Equal(t, "500 No QEMU guest agent configured", r.Status)
					return
				}

				if strings.HasSuffix(e.Path, "/query-url-metadata") {
					r = l.do(e.Verb, fill(e.Path, upid), url.Values{"url": {image}})
				}

				if strings.HasSuffix(e.Path, "/feature") {
					r = l.do(e.Verb, fill(e.Path, upid), url.Values{"feature": {"snapshot"}})
				}

				if strings.HasSuffix(e.Path, "/rrddata") {
					r = l.do(e.Verb, fill(e.Path, upid), url.Values{"timeframe": {"hour"}})

					if r.Status != "200 OK" { // the machine is younger than ten seconds on a fast host
						require.Contains(t, r.Status, "500 RRD error: opening ")
						return
					}
				}

				require.Equal(t, "200 OK", r.Status, r.Raw)

				method, ok := described.Method(e.Verb, e.Path)
				require.True(t, ok)
				require.Empty(t, slices.DeleteFunc(undeclared("data", r.Data, method.Returns), neverThere))
			})
		}
	}
}

// indexOfRepository is declared as a string (pve-manager API2/APT.pm) and is a number (proxmox-rs, APTRepositoryInfo).
var indexOfRepository = regexp.MustCompile(`^data\.infos\[\d+\]\.index is no string: \d+$`)

// neverThere reports an exception: a value that is declared but never set by the code (pve-manager
// API2/Cluster/Mapping/USB.pm), or of another type.
func neverThere(problem string) bool {
	return problem == "data[0].error is missing" || indexOfRepository.MatchString(problem)
}

// populated returns a lab with an object of every kind, and the UPID of a task.
func populated(t *testing.T, release schema.Release) (*lab, string) {
	t.Helper()

	l := newLab(t, func(c *proxmox.Config) {
		c.Release = release
		c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		holdsContainers(c)
	})
	l.template()
	l.must(http.MethodPost, downloads, values("content=vztmpl filename="+templateFile+" url="+templateURL))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 storage=tank start=1 tags=a features=nesting=1 net0=name=eth0,bridge=vmbr0 "+
		"ostemplate="+containerTemplate))
	l.must(http.MethodPost, "/nodes/vmhost/lxc/200/snapshot", values("snapname=before"))
	l.ok(http.MethodPost, "/pools", values("poolid=k3s comment=x"), nil)

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 name=a cores=2 memory=2048 tags=a pool=k3s scsi0=tank:1 "+
		"net0=virtio,bridge=vmbr0 serial0=socket ide2=tank:cloudinit start=1"), &upid)
	require.Equal(t, "OK", l.wait(upid).ExitStatus)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/snapshot", values("snapname=before"))
	l.must(http.MethodPost, "/nodes/vmhost/storage/local/download-url",
		url.Values{"content": {"iso"}, "filename": {"a.iso"}, "url": {images(t) + "/nocloud-amd64.iso"}})
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("memory=4096"), nil)
	l.ok(http.MethodPost, "/cluster/mapping/pci", values("id=gpu description=x map=id=10de:2204,node=vmhost,path=0000:01:00.0"), nil)
	l.ok(http.MethodPost, "/cluster/mapping/usb", values("id=gpu description=x map=id=10de:2204,node=vmhost"), nil)
	l.ok(http.MethodPost, "/cluster/ha/resources", values("sid=101 comment=x max_restart=0 max_relocate=0"), nil)
	l.ok(http.MethodPost, "/cluster/metrics/server/gpu", values("type=influxdb server=10.0.0.9 port=8089 disable=1"), nil)
	l.ok(http.MethodPost, "/cluster/backup", values("id=gpu schedule=daily storage=local all=1"), nil)
	l.ok(http.MethodPost, "/access/groups", values("groupid=ops"), nil)
	l.ok(http.MethodPost, "/access/users", values("userid=ci@pve groups=ops"), nil)
	l.ok(http.MethodPost, "/access/users/ci@pve/token/deploy", nil, nil)

	return l, upid
}

// fill inserts the names of the populated lab into a path.
func fill(path, upid string) string {
	path = strings.Replace(path, "/lxc/{vmid}", "/lxc/200", 1)

	for name, value := range map[string]string{
		"node": "vmhost", "vmid": "101", "storage": "local", "volume": "iso%2Fa.iso", "upid": url.PathEscape(upid),
		"iface": "vmbr0", "id": "gpu", "poolid": "k3s", "userid": "ci@pve", "tokenid": "deploy", "groupid": "ops",
		"roleid": "PVEAdmin", "sid": "vm:101", "snapname": "before",
	} {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}

	return path
}

// undeclared returns the differences between a value and its declaration.
func undeclared(at string, raw json.RawMessage, p *schema.Property) []string {
	raw = bytes.TrimSpace(raw)

	switch p.Type {
	case schema.Null:
		if string(raw) != "null" {
			return []string{at + " is not null"}
		}
	case schema.Array:
		var elements []json.RawMessage
		if err := json.Unmarshal(raw, &elements); err != nil {
			return []string{at + " is no list"}
		}

		var problems []string

		for i, element := range elements {
			if p.Items != nil {
				problems = append(problems, undeclared(fmt.Sprintf("%s[%d]", at, i), element, p.Items)...)
			}
		}

		return problems
	case schema.Object:
		return undeclaredFields(at, raw, p)
	case schema.Integer, schema.NumberT, schema.Boolean:
		// Perl does not distinguish a number from a string with a number; Proxmox VE mostly sends numbers.
		if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') && !quotedNumber(raw) {
			return []string{fmt.Sprintf("%s is no number: %s", at, raw)}
		}
	case schema.String:
		if len(raw) == 0 || raw[0] != '"' {
			return []string{fmt.Sprintf("%s is no string: %s", at, raw)}
		}
	}

	return nil
}

func quotedNumber(raw json.RawMessage) bool {
	return len(raw) > 2 && raw[0] == '"' && raw[1] >= '0' && raw[1] <= '9'
}

func undeclaredFields(at string, raw json.RawMessage, p *schema.Property) []string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return []string{at + " is no object"}
	}

	var problems []string

	for name, declared := range p.Properties {
		if _, ok := fields[name]; !ok && !bool(declared.Optional) && !strings.HasSuffix(name, "[n]") {
			problems = append(problems, at+"."+name+" is missing")
		}
	}

	for name, field := range fields {
		if declared, ok := schema.Lookup(p.Properties, name); ok {
			problems = append(problems, undeclared(at+"."+name, field, declared)...)
		}
	}

	slices.Sort(problems)

	return problems
}

// TestEveryMethodIsDescribed compares the table of methods with both descriptions: every method has a permission rule, and
// the lab knows every format of its parameters.
func TestEveryMethodIsDescribed(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		described, err := schema.Load(release)
		require.NoError(t, err)

		for _, e := range proxmox.Endpoints() {
			method, ok := described.Method(e.Verb, e.Path)
			require.True(t, ok, "%s %s %s", release, e.Verb, e.Path)

			for name, p := range method.Parameters {
				if p.Format.Name == "" {
					continue
				}

				if err := schema.CheckFormat(p.Format.Name, "x"); err != nil {
					require.NotContains(t, err.Error(), "undefined format", "%s %s: %s", e.Verb, e.Path, name)
				}
			}
		}
	}
}
