package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNormalForm checks the settings of a new VM in a real host's format.
func TestNormalForm(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 name=a cores=2 memory=2048 balloon=0 onboot=1 "+
		"agent=enabled=1,type=virtio scsihw=virtio-scsi-single cpu=cputype=host,flags=+aes tags=Talos;k3s,talos "+
		"net1=model=e1000,macaddr=bc:24:11:aa:bb:cc,bridge=vmbr0,tag=20 net0=virtio,bridge=vmbr0 "+
		"scsi0=file=thin:32,format=raw,size=34359738368,iothread=1,discard=on ide2=thin:cloudinit "+
		"efidisk0=file=thin:1,efitype=4m,pre-enrolled-keys=0 tpmstate0=thin:1,version=v2.0 ide3=none,media=cdrom "+
		"ipconfig0=ip=10.0.0.2/24,gw=10.0.0.1 cipassword=secret"))

	c := l.config("101")
	expected := map[string]any{
		"name": "a", "cores": 2.0, "memory": "2048", "balloon": 0.0, "onboot": 1.0, "agent": "enabled=1,type=virtio",
		"scsihw": "virtio-scsi-single", "cpu": "cputype=host,flags=+aes", "tags": "k3s;talos",
		"net1":      "e1000=BC:24:11:AA:BB:CC,bridge=vmbr0,tag=20",
		"scsi0":     "thin:vm-101-disk-1,discard=on,iothread=1,size=32G",
		"ide2":      "thin:vm-101-cloudinit,media=cdrom",
		"efidisk0":  "thin:vm-101-disk-0,efitype=4m,pre-enrolled-keys=0,size=4M",
		"tpmstate0": "thin:vm-101-disk-2,size=4M,version=v2.0",
		"ide3":      "none,media=cdrom", "boot": "order=scsi0;ide2;net0",
		"ipconfig0": "ip=10.0.0.2/24,gw=10.0.0.1", "cipassword": "**********",
	}

	for key, value := range expected {
		require.Equal(t, value, c[key], key)
	}

	require.Regexp(t, `^virtio=BC:24:11:[0-9A-F]{2}:[0-9A-F]{2}:[0-9A-F]{2},bridge=vmbr0$`, c["net0"])
	require.Regexp(t, `^uuid=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, c["smbios1"])
	require.Regexp(t, `^[0-9a-f-]{36}$`, c["vmgenid"])
	require.Regexp(t, `^creation-qemu=9\.2\.0,ctime=\d+$`, c["meta"])
	require.Regexp(t, `^[0-9a-f]{40}$`, c["digest"])
	require.NotContains(t, c, "lock")
}

// TestSameSeedSameHost checks that generated addresses and identities depend on the seed and the VM only.
func TestSameSeedSameHost(t *testing.T) {
	t.Parallel()

	configs := make([]map[string]any, 2)

	for i, order := range [][]string{{"101", "102"}, {"102", "101"}} {
		l := newLab(t, nil)
		for _, vmid := range order {
			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("net0=virtio,bridge=vmbr0 vmid="+vmid))
		}

		configs[i] = l.config("101")
		delete(configs[i], "meta")
		delete(configs[i], "digest")
	}

	require.Equal(t, configs[0], configs[1])
}

func TestChangesOfARunningVM(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 memory=1024 net0=virtio,bridge=vmbr0 scsi0=tank:1 start=1"))
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("memory=2048 name=b scsi1=tank:2 delete=net0,tags"), nil)

	require.Equal(t, "2048", l.config("101")["memory"], "pending changes show")
	require.NotContains(t, l.config("101"), "net0", "network cards are unplugged at once")

	var current map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("current=1"), &current)
	require.Equal(t, "1024", current["memory"])
	require.Equal(t, "b", current["name"])
	require.Equal(t, "tank:vm-101-disk-1,size=2G", current["scsi1"])

	var pending []map[string]any

	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/pending", nil, &pending)
	require.Contains(t, pending, map[string]any{"key": "memory", "value": "1024", "pending": "2048"})

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	l.ok(http.MethodGet, "/nodes/vmhost/qemu/101/config", values("current=1"), &current)
	require.Equal(t, "2048", current["memory"])
}

func TestDisksComeAndGo(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 ide2=tank:cloudinit boot=order=scsi0"))

	change := func(params string) { l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values(params), nil) }

	change("scsi1=tank:2")
	require.Equal(t, "tank:vm-101-disk-1,size=2G", l.config("101")["scsi1"])

	change("delete=scsi1")
	require.Equal(t, "tank:vm-101-disk-1", l.config("101")["unused0"], "a detached disk is kept")

	change("delete=unused0")
	require.NotContains(t, l.server.Volumes(), "vmhost/tank:vm-101-disk-1")

	change("delete=ide2")
	require.NotContains(t, l.server.Volumes(), "vmhost/tank:vm-101-cloudinit")

	change("ide2=tank:cloudinit,media=cdrom")
	require.Equal(t, "tank:vm-101-cloudinit,media=cdrom", l.config("101")["ide2"])
	require.Equal(t, "order=scsi0", l.config("101")["boot"], "the cloud-init drive does not boot")

	change("ide3=none,media=cdrom")
	require.Equal(t, "order=scsi0;ide3", l.config("101")["boot"], "a new CD-ROM does")

	change("delete=ide3")
	require.Equal(t, "order=scsi0", l.config("101")["boot"])

	change("description=")
	require.NotContains(t, l.config("101"), "description")
}

func TestRefusedChanges(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:1 memory=1024 ide2=tank:cloudinit protection=1"))

	tests := map[string]struct{ verb, path, params, status string }{
		"nothing": {http.MethodPut, "/config", "", "500 no options specified"},
		"an unknown setting": {
			http.MethodPut, "/config", "delete=colour", "400 Parameter verification failed.",
		},
		"setting what is deleted": {
			http.MethodPut, "/config", "delete=name name=a", "400 Parameter verification failed.",
		},
		"an old digest": {
			http.MethodPut, "/config", "name=a digest=0", "500 checksum mismatch (file change by other user?)",
		},
		"more balloon than memory": {
			http.MethodPut, "/config", "balloon=4096",
			"500 balloon value too large (must be smaller than assigned memory)",
		},
		"booting from nothing": {
			http.MethodPut, "/config", "boot=order=scsi9", "500 invalid bootorder: device 'scsi9' does not exist'",
		},
		"a second cloud-init drive": {
			http.MethodPut, "/config", "ide0=tank:cloudinit", "500 ide0 - cloud-init drive is already attached at 'ide2'",
		},
		"an ISO as a disk": {http.MethodPut, "/config", "ide3=local:iso/a.iso", "400 Parameter verification failed."},
		"an ISO that is not there": {
			http.MethodPut, "/config", "ide3=local:iso/a.iso,media=cdrom", "500 volume 'local:iso/a.iso' does not exist",
		},
		"an unknown storage": {
			http.MethodPut, "/config", "scsi1=nowhere:1", "500 storage 'nowhere' does not exist",
		},
		"a storage for ISO files": {http.MethodPut, "/config", "scsi1=local:1", "400 Parameter verification failed."},
		"a format that the storage has not": {
			http.MethodPut, "/config", "scsi1=tank:1,format=qcow2", "500 unsupported format 'qcow2'",
		},
		"a protected disk": {
			http.MethodPut, "/config", "delete=scsi0", "500 can't remove drive 'scsi0' - protection mode enabled",
		},
		"a protected VM": {
			http.MethodDelete, "", "", "500 can't remove VM 101 - protection mode enabled",
		},
		"to restart what does not run": {http.MethodPost, "/status/reboot", "", "500 VM 101 not running"},
		"a snapshot":                   {http.MethodGet, "/config", "snapshot=a1", "500 snapshot 'a1' does not exist"},
		"the same VMID": {
			http.MethodPost, "/clone", "newid=101", "500 unable to create VM 101: config file already exists",
		},
		"a pool that is not there": {
			http.MethodPost, "/clone", "newid=102 pool=none", "403 Permission check failed (pool 'none' does not exist)",
		},
		"a linked clone of no template": {
			http.MethodPost, "/clone", "newid=102 full=0",
			"500 Linked clone feature is not supported for 'tank:vm-101-disk-0' (scsi0)",
		},
		"a storage for a linked clone": {
			http.MethodPost, "/clone", "newid=102 full=0 storage=thin",
			"500 parameter 'storage' not allowed for linked clones",
		},
		"another node for local disks": {
			http.MethodPost, "/clone", "newid=102 full=1 target=vmhost2",
			"500 can't clone VM to node 'vmhost2' (VM uses local storage)",
		},
		"to move to where it is": {
			http.MethodPost, "/move_disk", "disk=scsi0 storage=tank",
			"500 you can't move to the same storage with same format",
		},
		"to move a CD-ROM": {http.MethodPost, "/move_disk", "disk=ide2 storage=thin", "500 you can't move a cdrom"},
		"to move nothing":  {http.MethodPost, "/move_disk", "disk=scsi7 storage=thin", "500 disk 'scsi7' does not exist"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := l.do(test.verb, "/nodes/vmhost/qemu/101"+test.path, values(test.params))
			require.Equal(t, test.status, r.Status, r.Raw)
		})
	}
}

func TestRefusedCreation(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()

	tests := map[string]struct{ params, status string }{
		"a taken VMID": {
			"vmid=9000", "500 unable to create VM 9000 - VM 9000 already exists on node 'vmhost'",
		},
		"an unknown pool":    {"vmid=101 pool=none", "403 Permission check failed (pool 'none' does not exist)"},
		"an unknown storage": {"vmid=101 scsi0=nowhere:1", "500 storage 'nowhere' does not exist"},
		"no storage":         {"vmid=101 scsi0=8", "500 no storage ID specified (and no default storage)"},
		"a backup":           {"vmid=101 archive=local:backup/a", "500 restoring backups is not emulated"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.status, l.do(http.MethodPost, "/nodes/vmhost/qemu", values(test.params)).Status)
		})
	}

	require.Equal(t, []int{9000}, l.vmids())
}

// vmids returns the IDs of the existing VMs.
func (l *lab) vmids() []int {
	ids := []int{}
	for _, vm := range l.server.VMs() {
		ids = append(ids, vm.ID)
	}

	return ids
}

// TestRefusedByWorkers checks errors that occur only in the task.
func TestRefusedByWorkers(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:4 ide2=tank:cloudinit memory=40960 start=1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 memory=40960"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=103 net0=virtio,bridge=vmbr7"))

	tests := map[string]struct{ verb, path, params, exit string }{
		"a template starts": {
			http.MethodPost, "/9000/status/start", "", "you can't start a vm if it's a template",
		},
		"a running VM starts":  {http.MethodPost, "/101/status/start", "", "VM 101 already running"},
		"the host is full":     {http.MethodPost, "/102/status/start", "", "start failed: QEMU exited with code 1"},
		"a bridge is missing":  {http.MethodPost, "/103/status/start", "", "bridge 'vmbr7' does not exist"},
		"a VM is missing":      {http.MethodPost, "/999/status/start", "", "Configuration file 'nodes/vmhost/qemu-server/999.conf' does not exist"},
		"a disk shrinks":       {http.MethodPut, "/101/resize", "disk=scsi0 size=1G", "shrinking disks is not supported"},
		"a CD-ROM grows":       {http.MethodPut, "/101/resize", "disk=ide2 size=1G", "you can't resize a cdrom"},
		"a disk is missing":    {http.MethodPut, "/101/resize", "disk=scsi3 size=1G", "disk 'scsi3' does not exist"},
		"a disk fills storage": {http.MethodPut, "/101/resize", "disk=scsi0 size=1T", "zfs error: cannot set property for 'tank/vm-101-disk-0': size is greater than available space"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.exit, l.task(test.verb, "/nodes/vmhost/qemu"+test.path, values(test.params)))
		})
	}
}

func TestGrowingDisks(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:4"))
	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=8G"))
	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=8G"))
	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=+512M"))
	require.Equal(t, "tank:vm-101-disk-0,size=8704M", l.config("101")["scsi0"])
}
