package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLifeOfAVM follows a VM from its template to its end, with the provider's calls.
func TestLifeOfAVM(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.template()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/9000/clone", values("newid=101 full=1 name=cp-1"))
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values(
		"cores=4 memory=4096 net0=model=virtio,bridge=vmbr0,macaddr=BC:24:11:00:00:01,firewall=0 delete=net1,net2 "+
			"ide2=file=tank:cloudinit,media=cdrom ipconfig0=ip=192.168.20.11/24,gw=192.168.20.1 tags=b;A"), nil)
	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=32G"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", values("timeout=1800"))

	c := l.config("101")
	require.Equal(t, "cp-1", c["name"])
	require.Equal(t, float64(4), c["cores"])
	require.Equal(t, "4096", c["memory"])
	require.Equal(t, "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=0", c["net0"])
	require.Equal(t, "tank:vm-101-disk-0,iothread=1,size=32G", c["scsi0"])
	require.Equal(t, "tank:vm-101-cloudinit,media=cdrom", c["ide2"])
	require.Equal(t, "a;b", c["tags"])
	require.NotContains(t, c, "lock")
	require.NotContains(t, c, "template")

	require.Equal(t, "VM 101 is running - destroy failed",
		trimmed(l.do(http.MethodDelete, "/nodes/vmhost/qemu/101/", values("purge=1")).Message))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("forceStop=1 timeout=1800"))
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101/", values("destroy-unreferenced-disks=1 purge=1"))

	gone := l.do(http.MethodGet, "/nodes/vmhost/qemu/101/status/current", nil)
	require.Equal(t, "500 Configuration file 'nodes/vmhost/qemu-server/101.conf' does not exist", gone.Status)

	var volumes []struct{ VolID string }

	l.ok(http.MethodGet, "/nodes/vmhost/storage/tank/content", nil, &volumes)
	require.Len(t, volumes, 1)
	require.Equal(t, "tank:base-9000-disk-0", volumes[0].VolID)
}
