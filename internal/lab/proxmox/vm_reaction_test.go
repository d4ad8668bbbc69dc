package proxmox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// TestRestartAfterReboot checks that the start after a reboot is a separate task of root, after the reboot task has ended.
func TestRestartAfterReboot(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", nil)

	type listed struct{ Type, User, Status string }

	var tasks []listed

	polltest.Until(t, func() bool {
		l.ok(http.MethodGet, "/nodes/vmhost/tasks", values("vmid=101 source=all"), &tasks)
		return len(tasks) == 3 && tasks[0].Status == "OK"
	})
	require.Equal(t, []listed{
		{"qmstart", "root@pam", "OK"}, {"qmreboot", "terraform@pve", "OK"}, {"qmcreate", "terraform@pve", "OK"},
	}, tasks)
}

func TestMachinesThatDoNotReact(t *testing.T) {
	t.Parallel()

	m := &machines{deaf: true}
	l := newLab(t, withMachines(m))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))

	require.Equal(t, "VM quit/powerdown failed - got timeout",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=1")))
	require.Equal(t, "running", l.status("101"))

	require.Equal(t, "VM quit/powerdown failed - got timeout",
		l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", values("timeout=1")))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=1 forceStop=1"))
	require.Equal(t, "stopped", l.status("101"), "the failed reboot is forgotten")
}

func TestStopOverrulesShutdown(t *testing.T) {
	t.Parallel()

	l := newLab(t, withMachines(&machines{deaf: true}))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=1800"), &upid)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", values("overrule-shutdown=1"))
	require.Equal(t, "received interrupt", l.wait(upid).ExitStatus)
	require.Equal(t, "stopped", l.status("101"))
}

func TestMachinesThatDoNotComeUp(t *testing.T) {
	t.Parallel()

	m := &machines{broken: true}
	l := newLab(t, withMachines(m))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 memory=60000"))

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil, &upid)
	require.Equal(t, "start failed: QEMU exited with code 1", l.wait(upid).ExitStatus)
	require.Equal(t, []string{
		"generating cloud-init ISO", "kvm: no bootable device", "TASK ERROR: start failed: QEMU exited with code 1",
	}, l.log(upid))

	m.mu.Lock()
	m.broken = false
	m.mu.Unlock()
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
}

// TestMemoryRunsOut checks that a host starts machines only up to its memory, and that machines of other hosts do not count.
func TestMemoryRunsOut(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for _, vmid := range []string{"101", "102"} {
		l.must(http.MethodPost, "/nodes/vmhost/qemu", values("memory=40000 vmid="+vmid))
	}

	l.must(http.MethodPost, "/nodes/vmhost2/qemu", values("memory=30000 vmid=103 start=1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)

	var upid string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/102/status/start", nil, &upid)
	require.Equal(t, "start failed: QEMU exited with code 1", l.wait(upid).ExitStatus)
	require.Contains(t, l.log(upid), "kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")
	require.Equal(t, "stopped", l.status("102"))

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/102/status/start", nil)
}

// log returns a task's log.
func (l *lab) log(upid string) []string {
	l.t.Helper()

	var lines []struct{ T string }

	l.ok(http.MethodGet, "/nodes/"+strings.Split(upid, ":")[1]+"/tasks/"+upid+"/log", nil, &lines)

	texts := []string{}
	for _, line := range lines {
		texts = append(texts, line.T)
	}

	return texts
}

func TestGuestTurnsItselfOff(t *testing.T) {
	t.Parallel()

	l := newLab(t, withMachines(&machines{}))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	l.server.GuestPoweredOff(101)
	l.server.GuestPoweredOff(999)
	require.Equal(t, "stopped", l.status("101"))
}

// TestPassthrough checks that a device belongs to one VM at a time, and that a mapping must match the hardware.
func TestPassthrough(t *testing.T) {
	t.Parallel()

	const right = "id=10de:2204,node=vmhost,path=0000:01:00.0,iommugroup=12,subsystem-id=1458:403b"

	tests := map[string]struct{ mapping, vm, exit string }{
		"right":           {right, "machine=q35 hostpci0=mapping=m1,pcie=1", "OK"},
		"another device":  {strings.Replace(right, "2204", "2205", 1), "hostpci0=mapping=m1", "PCI device mapping invalid (hardware probably changed): 'id' does not match for 'm1' (10de:2204 != 10de:2205)"},
		"another group":   {strings.Replace(right, "=12", "=13", 1), "hostpci0=mapping=m1", "PCI device mapping invalid (hardware probably changed): 'iommugroup' does not match for 'm1' (12 != 13)"},
		"no subsystem":    {strings.Replace(right, ",subsystem-id=1458:403b", "", 1), "hostpci0=mapping=m1", "PCI device mapping invalid (hardware probably changed): missing expected property 'subsystem-id' for device '0000:01:00.0'"},
		"another address": {strings.Replace(right, ":01:", ":02:", 1), "hostpci0=mapping=m1", "PCI device mapping invalid (hardware probably changed): pci device '0000:02:00.0' not found"},
		"another node":    {strings.Replace(right, "vmhost", "vmhost2", 1), "hostpci0=mapping=m1", "PCI device mapping not found for 'm1'"},
		"no mapping":      {"", "hostpci0=mapping=m1", "PCI device mapping not found for 'm1'"},
		"an old machine":  {right, "hostpci0=mapping=m1,pcie=1", "q35 machine model is not enabled at /usr/share/perl5/PVE/QemuServer/PCI.pm"},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, nil)
			if test.mapping != "" {
				l.ok(http.MethodPost, "/cluster/mapping/pci", values("id=m1 map="+test.mapping), nil)
			}

			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 "+test.vm))
			require.Equal(t, test.exit, l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil))

			if test.exit != "OK" {
				return
			}

			l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=102 "+test.vm))
			require.Equal(t, "PCI device '0000:01:00.0' already in use by VMID '101'",
				l.task(http.MethodPost, "/nodes/vmhost/qemu/102/status/start", nil))
		})
	}
}
