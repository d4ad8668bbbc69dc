package proxmox_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// machines records what a host does with the machines inside its VMs.
type machines struct {
	mu     sync.Mutex
	events []string
	on     map[int]proxmox.Machine
	// deaf machines do not react to the power button; broken ones do not start.
	deaf, broken bool
	// agent is the answer of guest agents; nil for none.
	agent *proxmox.Guest
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

func (m *machines) ChangeDisks(vmid int, disks []proxmox.Disk) {
	m.mu.Lock()
	defer m.mu.Unlock()

	machine := m.on[vmid]
	machine.Disks = disks
	m.on[vmid] = machine
	m.note("disks of %d", vmid)
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

func (m *machines) SnapshotDisks(vmid int, disks []string, name string) {
	m.note("snapshot %d %d disks %s", vmid, len(disks), name)
}

func (m *machines) RollbackDisks(vmid int, disks []string, name string) {
	m.note("rollback %d %d disks %s", vmid, len(disks), name)
}

func (m *machines) DropDiskSnapshots(vmid int, disks []string, name string) {
	m.note("drop %d %d disks %s", vmid, len(disks), name)
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

// status returns a VM's power state.
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

// TestDiskIdentity checks that a disk keeps its identity over changes, and that a new disk of the same name has another one.
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
	polltest.Until(t, func() bool { return l.status("101") == "running" })

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", values("timeout=60"))
	require.Equal(t, "stopped", l.status("101"))

	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/shutdown", nil)
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/start", nil)
	require.NoError(t, l.server.Reset(t.Context(), 101))
	require.Equal(t, "running", l.status("101"))
	l.must(http.MethodPost, "/nodes/vmhost/qemu/101/status/stop", nil)
	l.must(http.MethodDelete, "/nodes/vmhost/qemu/101", nil)

	require.Equal(t, []string{
		"on 101", "button 101", "on 101", "button 101", "on 101", "off 101", "on 101", "off 101", "destroy 101",
	}, m.seen())
}

// TestARebootOfAGuestThatIgnoresItsButton waits until the limit, and accepts any other end of the guest.
func TestARebootOfAGuestThatIgnoresItsButton(t *testing.T) {
	t.Parallel()

	var set *fault.Set

	l := newLab(t, func(c *proxmox.Config) { set = withFaults(t, c) })
	l.must(http.MethodPost, "/nodes/vmhost/qemu", values("vmid=101 start=1"))
	require.NoError(t, set.Set(fault.Fault{Name: "shutdown-ignored"}))
	require.Equal(t, "VM quit/powerdown failed - got timeout", l.task(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", values("timeout=1")))

	var reboot string

	l.ok(http.MethodPost, "/nodes/vmhost/qemu/101/status/reboot", values("timeout=1800"), &reboot)
	polltest.Until(t, func() bool { return set.List()[0].Occurred == 2 })
	l.server.GuestPoweredOff(101)
	require.Equal(t, "OK", l.wait(reboot).ExitStatus)
	polltest.Until(t, func() bool { return l.status("101") == "running" })
}
