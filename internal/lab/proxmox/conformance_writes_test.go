package proxmox_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// write is a call that changes something: the template of its path, its path, and its parameters.
type write struct{ verb, template, path, params string }

// writes change objects of every kind, each after the ones before it.
var writes = []write{
	{"PUT", "/cluster/options", "/cluster/options", "keyboard=de"},
	{"POST", "/cluster/metrics/server/{id}", "/cluster/metrics/server/graph", "type=graphite server=graphite.lan port=2003"},
	{"PUT", "/cluster/metrics/server/{id}", "/cluster/metrics/server/graph", "server=10.0.0.9 port=2003"},
	{"DELETE", "/cluster/metrics/server/{id}", "/cluster/metrics/server/graph", ""},
	{"POST", "/cluster/backup", "/cluster/backup", "id=nightly schedule=21:00 storage=local all=1"},
	{"PUT", "/cluster/backup/{id}", "/cluster/backup/nightly", "comment=x"},
	{"DELETE", "/cluster/backup/{id}", "/cluster/backup/nightly", ""},
	{"PUT", "/nodes/{node}/time", "/nodes/vmhost/time", "timezone=Europe/Berlin"},
	{"PUT", "/nodes/{node}/dns", "/nodes/vmhost/dns", "search=home.example dns1=192.168.20.5"},
	{"POST", "/nodes/{node}/hosts", "/nodes/vmhost/hosts", "data=127.0.0.1"},
	{"PUT", "/nodes/{node}/apt/repositories", "/nodes/vmhost/apt/repositories", "handle=no-subscription"},
	{"POST", "/nodes/{node}/apt/repositories", "/nodes/vmhost/apt/repositories", "path=REPOSITORIES index=0 enabled=0"},

	{"POST", "/nodes/{node}/network", "/nodes/vmhost/network", "iface=vmbr1 type=bridge"},
	{"PUT", "/nodes/{node}/network/{iface}", "/nodes/vmhost/network/vmbr1", "type=bridge mtu=9000"},
	{"DELETE", "/nodes/{node}/network/{iface}", "/nodes/vmhost/network/vmbr1", ""},
	{"DELETE", "/nodes/{node}/network", "/nodes/vmhost/network", ""},
	{"PUT", "/nodes/{node}/network", "/nodes/vmhost/network", ""},

	{"POST", "/storage", "/storage", "storage=share type=nfs server=10.0.0.5 export=/mnt/tank content=images,iso"},
	{"PUT", "/storage/{storage}", "/storage/share", "content=images"},
	{"DELETE", "/storage/{storage}", "/storage/share", ""},

	{"POST", "/nodes/{node}/storage/{storage}/download-url", "/nodes/vmhost/storage/local/download-url", "content=iso filename=b.iso url=IMAGE"},
	{"DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", "/nodes/vmhost/storage/local/content/local:iso%2Fb.iso", ""},

	{"POST", "/nodes/{node}/qemu", "/nodes/vmhost/qemu", "vmid=201 scsi0=nas:1 net0=virtio,bridge=vmbr0"},
	{"POST", "/nodes/{node}/qemu/{vmid}/snapshot", "/nodes/vmhost/qemu/101/snapshot", "snapname=later vmstate=1"},
	{"PUT", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/config", "/nodes/vmhost/qemu/101/snapshot/later/config", "description=x"},
	{"POST", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback", "/nodes/vmhost/qemu/101/snapshot/later/rollback", "start=1"},
	{"DELETE", "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}", "/nodes/vmhost/qemu/101/snapshot/later", ""},
	{"POST", "/nodes/{node}/qemu/{vmid}/clone", "/nodes/vmhost/qemu/201/clone", "newid=202 full=1"},
	{"PUT", "/nodes/{node}/qemu/{vmid}/config", "/nodes/vmhost/qemu/201/config", "cores=2"},
	{"POST", "/nodes/{node}/qemu/{vmid}/config", "/nodes/vmhost/qemu/201/config", "cores=4"},
	{"PUT", "/nodes/{node}/qemu/{vmid}/resize", "/nodes/vmhost/qemu/201/resize", "disk=scsi0 size=2G"},
	{"POST", "/nodes/{node}/qemu/{vmid}/move_disk", "/nodes/vmhost/qemu/202/move_disk", "disk=scsi0 storage=tank delete=1"},
	{"PUT", "/nodes/{node}/qemu/{vmid}/unlink", "/nodes/vmhost/qemu/202/unlink", "idlist=scsi0 force=1"},
	{"POST", "/nodes/{node}/qemu/{vmid}/status/start", "/nodes/vmhost/qemu/201/status/start", ""},
	{"POST", "/nodes/{node}/qemu/{vmid}/status/reboot", "/nodes/vmhost/qemu/201/status/reboot", ""},
	{"POST", "/nodes/{node}/qemu/{vmid}/status/shutdown", "/nodes/vmhost/qemu/201/status/shutdown", ""},
	{"POST", "/nodes/{node}/qemu/{vmid}/status/stop", "/nodes/vmhost/qemu/201/status/stop", ""},
	{"POST", "/nodes/{node}/qemu/{vmid}/migrate", "/nodes/vmhost/qemu/201/migrate", "target=vmhost2"},
	{"POST", "/nodes/{node}/qemu/{vmid}/template", "/nodes/vmhost2/qemu/201/template", ""},
	{"DELETE", "/nodes/{node}/qemu/{vmid}", "/nodes/vmhost2/qemu/201", ""},
	{"POST", "/nodes/{node}/lxc", "/nodes/vmhost/lxc", "vmid=203 storage=thin ostemplate=" + containerTemplate},
	{"PUT", "/nodes/{node}/lxc/{vmid}/config", "/nodes/vmhost/lxc/203/config", "cores=2"},
	{"PUT", "/nodes/{node}/lxc/{vmid}/resize", "/nodes/vmhost/lxc/203/resize", "disk=rootfs size=8G"},
	{"POST", "/nodes/{node}/lxc/{vmid}/snapshot", "/nodes/vmhost/lxc/203/snapshot", "snapname=later"},
	{"PUT", "/nodes/{node}/lxc/{vmid}/snapshot/{snapname}/config", "/nodes/vmhost/lxc/203/snapshot/later/config", "description=x"},
	{"POST", "/nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback", "/nodes/vmhost/lxc/203/snapshot/later/rollback", ""},
	{"DELETE", "/nodes/{node}/lxc/{vmid}/snapshot/{snapname}", "/nodes/vmhost/lxc/203/snapshot/later", ""},
	{"POST", "/nodes/{node}/lxc/{vmid}/status/start", "/nodes/vmhost/lxc/203/status/start", ""},
	{"POST", "/nodes/{node}/lxc/{vmid}/status/reboot", "/nodes/vmhost/lxc/203/status/reboot", ""},
	{"POST", "/nodes/{node}/lxc/{vmid}/status/shutdown", "/nodes/vmhost/lxc/203/status/shutdown", ""},
	{"POST", "/nodes/{node}/lxc/{vmid}/status/start", "/nodes/vmhost/lxc/203/status/start", ""},
	{"POST", "/nodes/{node}/lxc/{vmid}/status/stop", "/nodes/vmhost/lxc/203/status/stop", ""},
	{"DELETE", "/nodes/{node}/lxc/{vmid}", "/nodes/vmhost/lxc/203", ""},
	{"DELETE", "/nodes/{node}/tasks/{upid}", "/nodes/vmhost/tasks/UPID", ""},

	{"POST", "/cluster/mapping/pci", "/cluster/mapping/pci", "id=gpu2 map=id=10de:2204,node=vmhost,path=0000:01:00.0"},
	{"PUT", "/cluster/mapping/pci/{id}", "/cluster/mapping/pci/gpu2", "description=x"},
	{"DELETE", "/cluster/mapping/pci/{id}", "/cluster/mapping/pci/gpu2", ""},
	{"POST", "/cluster/mapping/usb", "/cluster/mapping/usb", "id=usb2 map=id=10de:2204,node=vmhost"},
	{"PUT", "/cluster/mapping/usb/{id}", "/cluster/mapping/usb/usb2", "description=x map=id=10de:2204,node=vmhost"},
	{"DELETE", "/cluster/mapping/usb/{id}", "/cluster/mapping/usb/usb2", ""},

	{"POST", "/pools", "/pools", "poolid=a1"},
	{"PUT", "/pools/{poolid}", "/pools/a1", "comment=x"},
	{"PUT", "/pools", "/pools", "poolid=a1 comment=y"},
	{"DELETE", "/pools/{poolid}", "/pools/a1", ""},
	{"POST", "/pools", "/pools", "poolid=a2"},
	{"DELETE", "/pools", "/pools", "poolid=a2"},

	{"POST", "/cluster/ha/resources", "/cluster/ha/resources", "sid=202"},
	{"PUT", "/cluster/ha/resources/{sid}", "/cluster/ha/resources/vm:202", "comment=x"},
	{"DELETE", "/cluster/ha/resources/{sid}", "/cluster/ha/resources/vm:202", ""},

	{"POST", "/access/groups", "/access/groups", "groupid=g1"},
	{"PUT", "/access/groups/{groupid}", "/access/groups/g1", "comment=x"},
	{"POST", "/access/users", "/access/users", "userid=a@pve"},
	{"PUT", "/access/users/{userid}", "/access/users/a@pve", "comment=x"},
	{"POST", "/access/roles", "/access/roles", "roleid=R1 privs=VM.Audit"},
	{"PUT", "/access/roles/{roleid}", "/access/roles/R1", "privs=Sys.Audit"},
	{"PUT", "/access/acl", "/access/acl", "path=/vms roles=R1 users=a@pve"},
	{"POST", "/access/users/{userid}/token/{tokenid}", "/access/users/a@pve/token/t1", ""},
	{"PUT", "/access/users/{userid}/token/{tokenid}", "/access/users/a@pve/token/t1", "comment=x"},
	{"DELETE", "/access/users/{userid}/token/{tokenid}", "/access/users/a@pve/token/t1", ""},
	{"DELETE", "/access/users/{userid}", "/access/users/a@pve", ""},
	{"DELETE", "/access/roles/{roleid}", "/access/roles/R1", ""},
	{"DELETE", "/access/groups/{groupid}", "/access/groups/g1", ""},
}

// heldElsewhere are writes whose responses other tests check: an upload has no form, there is no guest to ping, and a token
// cannot open sessions.
var heldElsewhere = []proxmox.Endpoint{
	{Verb: "POST", Path: "/nodes/{node}/storage/{storage}/upload"},
	{Verb: "POST", Path: "/nodes/{node}/qemu/{vmid}/agent/ping"},
	{Verb: "POST", Path: "/access/ticket"},
	{Verb: "PUT", Path: "/access/password"},
}

// TestAnswersToWritesAreAsDeclared changes objects of every kind, in both releases, and compares the responses with the
// release's own declaration.
func TestAnswersToWritesAreAsDeclared(t *testing.T) {
	t.Parallel()

	for _, release := range schema.Releases() {
		t.Run(string(release), func(t *testing.T) {
			t.Parallel()

			described, err := schema.Load(release)
			require.NoError(t, err)

			l, upid := populated(t, release)
			image := images(t) + "/nocloud-amd64.iso"
			made := slices.Clone(heldElsewhere)

			for _, w := range writes {
				params := values(strings.NewReplacer("IMAGE", image, "REPOSITORIES", enterpriseFile(release)).Replace(w.params))
				r := l.do(w.verb, strings.Replace(w.path, "/UPID", "/"+url.PathEscape(upid), 1), params)
				require.Equal(t, "200 OK", r.Status, "%s %s: %s", w.verb, w.path, r.Raw)

				method, ok := described.Method(w.verb, w.template)
				require.True(t, ok, "%s %s", w.verb, w.template)
				require.Empty(t, undeclared("data", r.Data, method.Returns), "%s %s", w.verb, w.path)

				if task := strings.Trim(string(r.Data), `"`); strings.HasPrefix(task, "UPID:") {
					require.Equal(t, "OK", l.wait(task).ExitStatus, "%s %s", w.verb, w.path)
				}

				made = append(made, proxmox.Endpoint{Verb: w.verb, Path: w.template})
			}

			for _, e := range proxmox.Endpoints() {
				require.True(t, e.Verb == "GET" || slices.Contains(made, e), "%s %s is never called", e.Verb, e.Path)
			}
		})
	}
}
