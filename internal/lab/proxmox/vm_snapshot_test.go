package proxmox_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
)

const snapshots = "/nodes/vmhost/qemu/101/snapshot"

// taken is an entry of the list of snapshots.
type taken struct {
	Name, Description, Parent string
	VMState, Running          int
}

func (l *lab) snapshots() []taken {
	l.t.Helper()

	var list []taken

	l.ok(http.MethodGet, snapshots, nil, &list)

	return list
}

// TestSnapshots takes two snapshots of a machine, and rolls it back.
func TestSnapshots(t *testing.T) {
	t.Parallel()

	m := &machines{}
	l := newLab(t, func(c *proxmox.Config) {
		withMachines(m)(c)
		c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
	})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=thin:1 memory=1024 ide2=none,media=cdrom"))
	l.must(http.MethodPost, snapshots, url.Values{"snapname": {"first"}, "description": {"before the change"}})
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("memory=2048 description=kept"), nil)
	l.must(http.MethodPost, snapshots, values("snapname=second"))
	require.Equal(t, []taken{
		{Name: "first", Description: "before the change"}, {Name: "second", Parent: "first"},
		{Name: "current", Description: "You are here!", Parent: "second"},
	}, l.snapshots())

	var of map[string]any

	l.ok(http.MethodGet, snapshots+"/first/config", nil, &of)
	require.Equal(t, "1024", of["memory"])
	require.NotContains(t, of, "lock")
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("snapshot=second"), &of)
	require.Equal(t, "2048", of["memory"])

	generation := l.config("101")["vmgenid"]
	l.must(http.MethodPost, snapshots+"/first/rollback", nil)

	now := l.config("101")
	require.Equal(t, "1024", now["memory"])
	require.Equal(t, "kept", now["description"], "no snapshot keeps it")
	require.Equal(t, "first", now["parent"])
	require.NotEqual(t, generation, now["vmgenid"])

	l.ok(http.MethodPut, snapshots+"/second/config", values("description=x"), nil)
	l.must(http.MethodDelete, snapshots+"/first", nil)
	require.Equal(t, []taken{{Name: "second", Description: "x"}, {Name: "current", Description: "You are here!"}}, l.snapshots())
	require.Equal(t, []string{
		"snapshot 101 1 disks first", "snapshot 101 1 disks second", "rollback 101 1 disks first", "drop 101 1 disks first",
	}, m.seen())
}

// TestSnapshotsWithMemory checks that the memory of a running machine has a volume, and that the machine starts after a
// rollback.
func TestSnapshotsWithMemory(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 memory=1024"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	l.must(http.MethodPost, snapshots, values("snapname=live vmstate=1"))

	var of map[string]any

	l.ok(http.MethodGet, snapshots+"/live/config", nil, &of)
	require.Equal(t, "tank:vm-101-state-live", of["vmstate"])
	l.must(http.MethodPost, snapshots+"/live/rollback", nil)
	require.Equal(t, []taken{
		{Name: "live", VMState: 1}, {Name: "current", Description: "You are here!", Parent: "live", Running: 1},
	}, l.snapshots())
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodDelete, snapshots+"/live", nil)

	var volumes []struct{ VolID string }

	l.ok(http.MethodGet, "/nodes/vmhost/storage/tank/content", nil, &volumes)
	require.Equal(t, []struct{ VolID string }{{"tank:vm-101-disk-0"}}, volumes)
}

// TestSnapshotsThatAreRefused checks Proxmox VE's errors.
func TestSnapshotsThatAreRefused(t *testing.T) {
	t.Parallel()

	l := administrator(t)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 scsi0=nas:1"))
	l.must(http.MethodPost, snapshots, values("snapname=a1"))
	l.must(http.MethodPost, snapshots, values("snapname=a2"))

	for name, test := range map[string]struct{ verb, path, params, end string }{
		"reserved":             {http.MethodPost, snapshots, "snapname=current", "500 unable to use snapshot name 'current' (reserved name)"},
		"taken":                {http.MethodPost, snapshots, "snapname=a1", "snapshot name 'a1' already used"},
		"a template":           {http.MethodPost, "/nodes/vmhost/qemu/9000/snapshot", "snapname=a1", "you can't take a snapshot if it's a template"},
		"raw files":            {http.MethodPost, "/nodes/vmhost/qemu/102/snapshot", "snapname=a1", "snapshot feature is not available"},
		"past a later one":     {http.MethodPost, snapshots + "/a1/rollback", "", "can't rollback, 'a1' is not most recent snapshot on 'tank:vm-101-disk-0'"},
		"no such snapshot":     {http.MethodDelete, snapshots + "/none", "", "snapshot 'none' does not exist"},
		"a template of it":     {http.MethodPost, "/nodes/vmhost/qemu/101/template", "", "500 unable to create template, because VM contains snapshots"},
		"its disk moved":       {http.MethodPost, "/nodes/vmhost/qemu/101/move_disk", "disk=scsi0 storage=thin delete=1", "500 you can't move a disk with snapshots and delete the source"},
		"none's configuration": {http.MethodGet, "/nodes/vmhost/qemu/101/config", "snapshot=none", "500 snapshot 'none' does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(test.verb, test.path, values(test.params))
			if r.Status != "200 OK" {
				require.Equal(t, test.end, r.Status)
				return
			}

			require.Equal(t, test.end, l.wait(string(r.Data[1:len(r.Data)-1])).ExitStatus)
		})
	}
}

// TestWhetherAGuestCanHaveSnapshots asks for the feature: it depends on the storage of every disk.
func TestWhetherAGuestCanHaveSnapshots(t *testing.T) {
	t.Parallel()

	l := newContainerLab(t, func(c *proxmox.Config) {
		c.Hosts[0].Storages[0].Content = append(c.Hosts[0].Storages[0].Content, storage.RootDir)
	})
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 ide2=nas:cloudinit"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 scsi0=tank:1 scsi1=nas:1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=103 scsi0=file=nas:1,format=qcow2"))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=200 rootfs=tank:4 ostemplate="+containerTemplate))
	l.must(http.MethodPost, "/nodes/vmhost/lxc", values("vmid=201 rootfs=local:4 ostemplate="+containerTemplate))

	for guest, want := range map[string]int{"qemu/101": 1, "qemu/102": 0, "qemu/103": 1, "lxc/200": 1, "lxc/201": 0} {
		var answer struct{ HasFeature int }

		l.ok(http.MethodGet, "/nodes/vmhost/"+guest+"/feature", values("feature=snapshot"), &answer)
		require.Equal(t, want, answer.HasFeature, guest)
	}

	for _, guest := range []string{"qemu/101", "lxc/200"} {
		require.Equal(t, "500 the feature clone, or that of a snapshot, is not emulated",
			l.do(http.MethodGet, "/nodes/vmhost/"+guest+"/feature", values("feature=clone")).Status)
	}
}

// TestSnapshotsThatHoldDisks: a disk with snapshots can grow, since qemu-server 8.0.1 also in a qcow2 file. A local disk with snapshots
// cannot move to another node while the machine runs; on LVM it never can.
func TestSnapshotsThatHoldDisks(t *testing.T) {
	t.Parallel()

	l := newLab(t, func(c *proxmox.Config) {
		c.Tokens[0].Role, c.Tokens[0].Privileges = "Administrator", nil
		c.Hosts[1].Storages = append(c.Hosts[1].Storages, c.Hosts[0].Storages[1:3]...)
	})
	for vmid, disk := range map[string]string{"101": "tank:1", "102": "file=nas:1,format=qcow2", "103": "thin:1"} {
		l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid="+vmid+" start=1 scsi0="+disk))
		l.must(http.MethodPost, "/nodes/vmhost/qemu/"+vmid+"/snapshot", values("snapname=a1"))
	}

	for _, vmid := range []string{"101", "102", "103"} {
		l.must(http.MethodPut, "/nodes/vmhost/qemu/"+vmid+"/resize", values("disk=scsi0 size=2G"))
		require.Contains(t, l.config(vmid)["scsi0"], "size=2G")
	}

	migrate := func(vmid, params string) []string {
		var upid string

		l.ok(http.MethodPost, "/nodes/vmhost/qemu/"+vmid+"/migrate", values("target=vmhost2 "+params), &upid)
		require.Contains(t, l.wait(upid).ExitStatus, "Problem found while scanning volumes")

		return l.log(upid)
	}
	require.Contains(t, migrate("101", "online=1 with-local-disks=1"),
		"can't migrate local disk 'tank:vm-101-disk-0': online storage migration not possible if non-replicated snapshot exists")
	l.must(http.MethodPost, "/nodes/vmhost/qemu/103/status/stop", nil)
	require.Contains(t, migrate("103", ""), "can't migrate local disk 'thin:vm-103-disk-0': non-migratable snapshot exists")

	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=104 start=1 scsi0=file=nas:1,format=qcow2"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/104/snapshot", values("snapname=a1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/104/config", values("scsi1=tank:1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/104/migrate", values("target=vmhost2 online=1 with-local-disks=1"))

	var moved struct{ SCSI1 string }

	l.ok(http.MethodGet, "/nodes/vmhost2/qemu/104/config", nil, &moved)
	require.Contains(t, moved.SCSI1, "tank:vm-104-disk", "a disk that was added after the snapshot is not in it")
}
