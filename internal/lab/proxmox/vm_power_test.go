package proxmox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// machines records what a host does with the machines inside its VMs.
type machines struct {
	mu     sync.Mutex
	events []string
	on     map[int]proxmox.Machine
	// deaf machines do not react to the power button, broken ones do not come up.
	deaf, broken bool
}

func (m *machines) note(format string, args ...any) {
	m.events = append(m.events, fmt.Sprintf(format, args...))
}

func (m *machines) PowerOn(_ context.Context, machine proxmox.Machine) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.broken {
		return errors.New("no bootable device")
	}

	if m.on == nil {
		m.on = map[int]proxmox.Machine{}
	}

	m.on[machine.VMID] = machine
	m.note("on %d", machine.VMID)

	return nil
}

func (m *machines) PowerOff(vmid int) {
	m.mu.Lock()
	defer m.mu.Unlock()

	delete(m.on, vmid)
	m.note("off %d", vmid)
}

func (m *machines) Shutdown(ctx context.Context, vmid int) error {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.note("button %d", vmid)

	if !m.deaf {
		delete(m.on, vmid)
		return nil
	}

	m.mu.Unlock()
	<-ctx.Done()
	m.mu.Lock()

	return ctx.Err()
}

func (m *machines) Destroy(vmid int) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.note("destroy %d", vmid)
}

func (m *machines) seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()

	return slices.Clone(m.events)
}

func (m *machines) machine(vmid int) proxmox.Machine {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.on[vmid]
}

func withMachines(m *machines) func(*proxmox.Config) {
	return func(c *proxmox.Config) { c.Machines = m }
}

// status is a VM's power.
func (l *lab) status(vmid string) string {
	l.t.Helper()

	var s struct{ Status string }

	l.ok(http.MethodGet, "/nodes/vmhost/qemu/"+vmid+"/status/current", nil, &s)

	return s.Status
}

func TestMachineOfAVM(t *testing.T) {
	t.Parallel()

	m := &machines{}
	l := newLab(t, withMachines(m))
	l.ok(http.MethodPost, "/cluster/mapping/pci", values("id=gpu map=id=10de:2204,node=vmhost,path=0000:01:00.0,"+
		"iommugroup=12,subsystem-id=1458:403b"), nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 name=gpu-1 machine=q35 cores=2 sockets=2 memory=4096 "+
		"scsi1=tank:2 scsi0=tank:8 ide2=tank:cloudinit,media=cdrom efidisk0=tank:1 hostpci0=mapping=gpu,pcie=1 "+
		"net1=virtio,bridge=vmbr0 net0=virtio=BC:24:11:00:00:01,bridge=vmbr0 nameserver=1.1.1.1,9.9.9.9 "+
		"ipconfig0=ip=10.0.0.2/24,gw=10.0.0.1,ip6=fd00::2/64,gw6=fd00::1 boot=order=scsi0 start=1"))

	machine := m.machine(101)
	require.Equal(t, "gpu-1", machine.Name)
	require.Equal(t, "vmhost", machine.Host)
	require.Equal(t, 4, machine.CPUs)
	require.Equal(t, 4096, machine.MemoryMiB)
	require.Equal(t, []proxmox.PCIDevice{gpuDevice}, machine.PCI)
	require.Equal(t, []string{"scsi0"}, machine.BootsFrom)
	require.Empty(t, machine.ISO)

	require.Len(t, machine.Disks, 2)
	require.Equal(t, "scsi0", machine.Disks[0].Slot)
	require.Equal(t, uint64(8<<30), machine.Disks[0].Bytes)
	require.NotEqual(t, machine.Disks[0].ID, machine.Disks[1].ID)

	require.Len(t, machine.NICs, 2)
	require.Equal(t, "bc:24:11:00:00:01", machine.NICs[0].MAC.String())
	require.Equal(t, "vmbr0", machine.NICs[0].Bridge)

	require.Equal(t, "gpu-1", machine.CloudInit.Hostname)
	require.Equal(t, "[1.1.1.1 9.9.9.9]", fmt.Sprint(machine.CloudInit.Nameservers))
	require.Equal(t, "[10.0.0.2/24 fd00::2/64]", fmt.Sprint(machine.CloudInit.NICs[0].Addresses))
	require.Equal(t, "[10.0.0.1 fd00::1]", fmt.Sprint(machine.CloudInit.NICs[0].Gateways))
	require.Empty(t, machine.CloudInit.NICs[1].Addresses)
}

// TestDiskIdentity holds that a disk is known over changes, and a new one by the same name is another.
func TestDiskIdentity(t *testing.T) {
	t.Parallel()

	m := &machines{}
	l := newLab(t, withMachines(m))
	create := func() { l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 scsi0=tank:8")) }
	start := func() string {
		l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
		id := m.machine(101).Disks[0].ID
		l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)

		return id
	}

	create()

	first := start()

	l.must(http.MethodPut, "/nodes/vmhost/qemu/101/resize", values("disk=scsi0 size=16G"))
	require.Equal(t, first, start(), "a grown disk is the same disk")

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/move_disk", values("disk=scsi0 storage=thin delete=1"))
	require.Equal(t, first, start(), "a moved disk is the same disk")

	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)
	create()
	require.NotEqual(t, first, start(), "a disk of a new VM is a new disk")
}

func TestPowerReachesTheMachine(t *testing.T) {
	t.Parallel()

	m := &machines{}
	l := newLab(t, withMachines(m))
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	require.Equal(t, "running", l.status("101"))

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", values("timeout=60"))
	require.Eventually(t, func() bool { return l.status("101") == "running" }, 5*time.Second, time.Millisecond)

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=60"))
	require.Equal(t, "stopped", l.status("101"))

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)

	require.Equal(t, []string{
		"on 101", "button 101", "on 101", "button 101", "on 101", "off 101", "destroy 101",
	}, m.seen())
}

// TestRestartAfterReboot holds that the start after a reboot is a task of root's, once the reboot's own is over.
func TestRestartAfterReboot(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", nil)

	type listed struct{ Type, User, Status string }

	var tasks []listed

	require.Eventually(t, func() bool {
		l.ok(http.MethodGet, "/nodes/vmhost/tasks", values("vmid=101 source=all"), &tasks)
		return len(tasks) == 3 && tasks[0].Status == "OK"
	}, 5*time.Second, time.Millisecond)
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

// log reads a task's log.
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

func TestGuestAgent(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101"))

	ask := func() string {
		return l.do(http.MethodGet, "/nodes/vmhost/qemu/101/agent/network-get-interfaces", nil).Status
	}

	require.Equal(t, "500 No QEMU guest agent configured", ask())
	l.ok(http.MethodPut, "/nodes/vmhost/qemu/101/config", values("agent=1"), nil)
	require.Equal(t, "500 VM 101 is not running", ask())
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.Equal(t, "500 QEMU guest agent is not running", ask())
}

// TestPassthrough holds that a device goes to one VM at a time, and that a mapping must agree with the hardware.
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
