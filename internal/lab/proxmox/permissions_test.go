package proxmox_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// without returns a lab whose token lacks privileges, with VMs that a token with all privileges has created before.
func without(t *testing.T, privileges ...string) *lab {
	t.Helper()

	file := stateFile(t)
	full := newLab(t, func(c *proxmox.Config) { c.StateFile = file })
	full.template()
	full.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 name=cp-1"))
	full.ok(http.MethodPost, "/pools", values("poolid=k3s"), nil)
	require.NoError(t, full.server.Close())

	return newLab(t, func(c *proxmox.Config) {
		c.StateFile = file
		c.Tokens[0].Privileges = slices.DeleteFunc(c.Tokens[0].Privileges, func(p string) bool {
			return slices.Contains(privileges, p)
		})
	})
}

// TestEachPrivilegeIsNeeded removes the privileges of the documented role one by one, and checks that a call then fails with
// the text of a real host.
func TestEachPrivilegeIsNeeded(t *testing.T) {
	t.Parallel()

	const (
		vm       = "/nodes/vmhost/qemu/101"
		download = "/nodes/vmhost/storage/local/download-url"
		iso      = "content=iso filename=a.iso url=http://127.0.0.1:1/a.iso"
	)

	tests := []struct{ privilege, verb, path, params, refusal string }{
		{"VM.Allocate", http.MethodPost, "/nodes/vmhost/qemu", "vmid=102", ""},
		{"VM.Allocate", http.MethodDelete, vm, "", " (/vms/101, VM.Allocate)"},
		{"VM.Allocate", http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "newid=102", ""},
		{"VM.Clone", http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "newid=102", " (/vms/9000, VM.Clone)"},
		{"VM.Audit", http.MethodGet, vm + "/config", "", " (/vms/101, VM.Audit)"},
		{"VM.Audit", http.MethodGet, vm + "/status/current", "", " (/vms/101, VM.Audit)"},
		{"VM.Config.CPU", http.MethodPut, vm + "/config", "cores=4", " (/vms/101, VM.Config.CPU)"},
		{"VM.Config.Memory", http.MethodPut, vm + "/config", "memory=4096", " (/vms/101, VM.Config.Memory)"},
		{"VM.Config.Options", http.MethodPut, vm + "/config", "name=a", " (/vms/101, VM.Config.Options)"},
		{"VM.Config.Options", http.MethodPut, vm + "/config", "tags=a", " (/vms/101, VM.Config.Options)"},
		{"VM.Config.HWType", http.MethodPut, vm + "/config", "machine=q35", " (/vms/101, VM.Config.HWType)"},
		{"VM.Config.HWType", http.MethodPut, vm + "/config", "serial0=socket", " (/vms/101, VM.Config.HWType)"},
		{"VM.Config.Network", http.MethodPut, vm + "/config", "delete=net0", " (/vms/101, VM.Config.Network)"},
		{"VM.Config.Disk", http.MethodPut, vm + "/config", "boot=order=scsi0", " (/vms/101, VM.Config.Disk)"},
		{"VM.Config.Disk", http.MethodPut, vm + "/config", "scsi1=tank:1", " (/vms/101, VM.Config.Disk)"},
		{"VM.Config.Disk", http.MethodPut, vm + "/resize", "disk=scsi0 size=9G", " (/vms/101, VM.Config.Disk)"},
		{"VM.Config.CDROM", http.MethodPut, vm + "/config", "ide3=none,media=cdrom", " (/vms/101, VM.Config.CDROM)"},
		{
			"VM.Config.Cloudinit", http.MethodPut, vm + "/config", "ide2=tank:cloudinit,media=cdrom",
			" (/vms/101, VM.Config.Cloudinit)",
		},
		{"VM.PowerMgmt", http.MethodPost, vm + "/status/start", "", " (/vms/101, VM.PowerMgmt)"},
		{"VM.Migrate", http.MethodPost, vm + "/migrate", "target=vmhost2", " (/vms/101, VM.Migrate)"},
		{"VM.Monitor", http.MethodGet, vm + "/agent/network-get-interfaces", "", " (/vms/101, VM.Monitor)"},
		{
			"SDN.Use", http.MethodPut, vm + "/config", "net0=virtio,bridge=vmbr0",
			" (/sdn/zones/localnetwork/vmbr0, SDN.Use)",
		},
		{"SDN.Use", http.MethodPost, "/nodes/vmhost/qemu/9000/clone", "newid=102", " (/sdn/zones/localnetwork/vmbr0, SDN.Use)"},
		{"Datastore.AllocateSpace", http.MethodPut, vm + "/config", "scsi1=tank:1", " (/storage/tank, Datastore.AllocateSpace)"},
		{"Datastore.AllocateTemplate", http.MethodPost, download, iso, " (/storage/local, Datastore.AllocateTemplate)"},
		{"Datastore.Allocate", http.MethodDelete, "/nodes/vmhost/storage/local/content/iso/a.iso", "", " (/storage/local, Datastore.Allocate)"},
		{"Mapping.Use", http.MethodPut, vm + "/config", "hostpci0=mapping=gpu", " (/mapping/pci/gpu, Mapping.Use)"},
		{"Mapping.Modify", http.MethodPost, "/cluster/mapping/pci", "id=gpu map=node=vmhost,path=0000:01:00.0,id=10de:2204", " (/mapping/pci, Mapping.Modify)"},
		{"Pool.Allocate", http.MethodPost, "/pools", "poolid=a", " (/pool/a, Pool.Allocate)"},
		{"Pool.Audit", http.MethodGet, "/pools/k3s", "", " (/pool/k3s, Pool.Audit)"},
		{"Sys.Audit", http.MethodGet, "/nodes/vmhost/status", "", " (/nodes/vmhost, Sys.Audit)"},
		{"Sys.Modify", http.MethodPost, "/nodes/vmhost/network", "iface=vmbr1 type=bridge", " (/nodes/vmhost, Sys.Modify)"},
		{"Sys.Modify", http.MethodPut, vm + "/config", "startup=order=1", " (/, Sys.Modify)"},
		{"Sys.Audit", http.MethodGet, "/nodes/vmhost/time", "", " (/nodes/vmhost, Sys.Audit)"},
		{"Sys.Modify", http.MethodPut, "/nodes/vmhost/time", "timezone=UTC", " (/nodes/vmhost, Sys.Modify)"},
		{"Sys.Audit", http.MethodGet, "/nodes/vmhost/hosts", "", " (/, Sys.Audit)"},
		{"Sys.Modify", http.MethodPost, "/nodes/vmhost/hosts", "data=127.0.0.1", " (/nodes/vmhost, Sys.Modify)"},
		{"Sys.Audit", http.MethodGet, "/cluster/metrics/server", "", " (/, Sys.Audit)"},
		{"Sys.Audit", http.MethodGet, "/cluster/metrics/server/m1", "", " (/, Sys.Audit)"},
		{"Sys.Modify", http.MethodPost, "/cluster/metrics/server/m1", "type=graphite server=a port=1", " (/, Sys.Modify)"},
		{"Sys.Modify", http.MethodPut, "/cluster/metrics/server/m1", "server=a port=1", " (/, Sys.Modify)"},
		{"Sys.Modify", http.MethodDelete, "/cluster/metrics/server/m1", "", " (/, Sys.Modify)"},
		{"Sys.Audit", http.MethodGet, "/cluster/backup", "", " (/, Sys.Audit)"},
		{"Sys.Audit", http.MethodGet, "/cluster/backup/b1", "", " (/, Sys.Audit)"},
		{"Sys.Modify", http.MethodPost, "/cluster/backup", "schedule=daily all=1", " (/, Sys.Modify)"},
		{"Sys.Modify", http.MethodPut, "/cluster/backup/b1", "comment=x", " (/, Sys.Modify)"},
		{"Sys.Modify", http.MethodDelete, "/cluster/backup/b1", "", " (/, Sys.Modify)"},
		{"Datastore.Allocate", http.MethodPost, "/cluster/backup", "schedule=daily all=1", " (/storage/local, Datastore.Allocate)"},
		{"Datastore.Allocate", http.MethodPost, "/cluster/backup", "schedule=daily all=1 storage=nas", " (/storage/nas, Datastore.Allocate)"},
		{"Datastore.Allocate", http.MethodPut, "/cluster/backup/b1", "delete=storage", " (/storage/local, Datastore.Allocate)"},
		{"Datastore.AllocateSpace", http.MethodPost, "/cluster/backup", "schedule=daily all=1 fleecing=enabled=1,storage=thin", " (/storage/thin, Datastore.AllocateSpace)"},
		{"Sys.Audit", http.MethodGet, repositories, "", " (/nodes/vmhost, Sys.Audit)"},
		{"Sys.Modify", http.MethodPut, repositories, "handle=test", " (/nodes/vmhost, Sys.Modify)"},
		{"Sys.Modify", http.MethodPost, repositories, "path=/etc/apt/sources.list index=0", " (/nodes/vmhost, Sys.Modify)"},
	}

	labs := map[string]*lab{}
	for _, test := range tests {
		if labs[test.privilege] == nil {
			labs[test.privilege] = without(t, test.privilege)
		}
	}

	for _, test := range tests {
		t.Run(test.privilege+" "+test.verb+" "+test.path+" "+test.params, func(t *testing.T) {
			t.Parallel()

			r := labs[test.privilege].do(test.verb, test.path, values(test.params))
			require.Equal(t, "403 Permission check failed"+test.refusal, r.Status)
			require.Equal(t, "Permission check failed"+test.refusal+"\n", r.Message)
		})
	}
}

// TestEitherPrivilegeAllowsDownloads checks that Sys.AccessNetwork replaces the two privileges that older hosts require.
func TestEitherPrivilegeAllowsDownloads(t *testing.T) {
	t.Parallel()

	const path = "/nodes/vmhost/query-url-metadata"

	for name, l := range map[string]*lab{
		"fine": without(t, "Sys.Modify"), "coarse": without(t, "Sys.AccessNetwork"),
	} {
		r := l.do(http.MethodGet, path, values("url=http://127.0.0.1:1/a.iso"))
		require.Contains(t, r.Status, "500 invalid server response", name)
	}

	neither := without(t, "Sys.AccessNetwork", "Sys.Modify")
	require.Equal(t, "403 Permission check failed", neither.do(http.MethodGet, path, values("url=http://127.0.0.1:1/a.iso")).Status)
}

// TestInvisibleWithoutAudit checks that lists leave out what the caller must not see.
func TestInvisibleWithoutAudit(t *testing.T) {
	t.Parallel()

	l := without(t, "VM.Audit", "Datastore.Audit", "Datastore.AllocateSpace", "Pool.Audit", "SDN.Use")
	for _, path := range []string{
		"/cluster/resources?type=vm", "/cluster/resources?type=storage",
		"/nodes/vmhost/qemu", "/nodes/vmhost/storage", "/storage", "/pools", "/nodes/vmhost/network?type=bridge",
	} {
		require.JSONEq(t, "[]", string(l.do(http.MethodGet, path, nil).Data), path)
	}
}

// TestOnlyRootMay lists what no token may do.
func TestOnlyRootMay(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	tests := map[string]struct{ verb, path, params, status string }{
		"raw passthrough": {
			http.MethodPut, "/nodes/vmhost/qemu/9000/config", "hostpci0=0000:01:00.0",
			"500 only root can set 'hostpci0' config for non-mapped devices",
		},
		"a serial device": {
			http.MethodPut, "/nodes/vmhost/qemu/9000/config", "serial0=/dev/ttyS0",
			"500 only root can set 'serial0' config for real devices",
		},
		"arguments": {
			http.MethodPut, "/nodes/vmhost/qemu/9000/config", "args=-no-reboot", "500 only root can set 'args' config",
		},
		"a path as a disk": {
			http.MethodPut, "/nodes/vmhost/qemu/9000/config", "scsi1=/dev/sda",
			"500 Only root can pass arbitrary filesystem paths.",
		},
		"a lock": {
			http.MethodPut, "/nodes/vmhost/qemu/9000/config", "lock=backup", "500 only root can set 'lock' config",
		},
		"a second token": {
			http.MethodPost, "/access/users/terraform@pve/token/second", "", "403 Permission check failed",
		},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.status, l.do(test.verb, test.path, values(test.params)).Status)
		})
	}
}

func TestOptionsOfRoot(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	r := l.do(http.MethodDelete, "/nodes/vmhost/qemu/9000", values("skiplock=1"))
	require.Equal(t, map[string]string{"skiplock": "Only root may use this option."}, r.Errors)
}

// TestPoolGrants checks that a role on a pool applies to its VMs and to the creation of VMs in it.
func TestPoolGrants(t *testing.T) {
	t.Parallel()

	file := stateFile(t)
	full := newLab(t, func(c *proxmox.Config) { c.StateFile = file })
	full.template()
	full.ok(http.MethodPost, "/pools", values("poolid=k3s"), nil)
	full.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 pool=k3s"))
	require.NoError(t, full.server.Close())

	l := newLab(t, func(c *proxmox.Config) {
		c.StateFile = file
		c.Tokens[0].ID = "other@pve!second"
		c.Tokens[0].Path = "/pool/k3s"
		c.Tokens[0].Role = "Pooled"
		c.Tokens[0].Privileges = []string{"VM.Audit", "VM.Allocate", "VM.Config.Options"}
	})
	l.token = "other@pve!second" + l.token[len(operator):]

	require.Equal(t, "200 OK", l.do(http.MethodGet, "/nodes/vmhost/qemu/101/config", nil).Status)
	require.Equal(t, "403 Permission check failed (/vms/9000, VM.Audit)",
		l.do(http.MethodGet, "/nodes/vmhost/qemu/9000/config", nil).Status)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 name=a pool=k3s"))
	require.Equal(t, "403 Permission check failed", l.do(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=103 name=a")).Status)
}

// TestRelease9 checks the differences of Proxmox VE 9.
func TestRelease9(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) {
		c.Release = schema.Release91
		c.Tokens[0].Privileges = slices.DeleteFunc(proxmox.OperatorPrivileges(schema.Release91), func(p string) bool {
			return p == "VM.GuestAgent.Audit"
		})
	})
	l.template()

	require.Equal(t, "403 Permission check failed (/vms/9000, VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted)",
		l.do(http.MethodGet, "/nodes/vmhost/qemu/9000/agent/network-get-interfaces", nil).Status)

	var version struct{ Release string }

	l.ok(http.MethodGet, "/version", nil, &version)
	require.Equal(t, "9.1", version.Release)

	_, err := proxmox.NewServer(proxmox.Config{
		Release: schema.Release91, Hosts: testConfig().Hosts,
		Tokens: []proxmox.Token{{ID: operator, Secret: "s", Role: "R", Privileges: []string{"VM.Monitor"}}},
	})
	require.EqualError(t, err, "lab host: role R of token terraform@pve!em-infra: invalid privilege 'VM.Monitor'")
}
