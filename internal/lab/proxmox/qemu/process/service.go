// Package process has the QEMU processes of a cluster: which VMs run, since when, and which resources of their hosts they
// use. A power cut ends all of them, so there is no persistent state. Nothing is called while the service's lock is held.
package process

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Claim is the resources of a host that a running VM uses.
type Claim struct {
	Node      string
	MemoryMiB int
	// PCI are the addresses of the passed-through devices.
	PCI []string
}

// process is QEMU for one VM. It has no PID during its start.
type process struct {
	Claim

	pid   int
	since time.Time
	// shown is when the status becomes running; it is later only with a fault.
	shown time.Time
	// reboot is set while a reboot waits until the machine is off.
	reboot bool
}

func (p *process) running() bool { return p != nil && p.pid != 0 }

// Service has the processes by VMID. It is safe for concurrent use.
type Service struct {
	mu        sync.Mutex
	processes map[int]*process
}

// New returns a cluster without processes.
func New() *Service { return &Service{processes: map[int]*process{}} }

// Running reports whether a VM runs.
func (s *Service) Running(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.processes[vmid].running()
}

// Status is a running process.
type Status struct {
	PID       int
	Since     time.Time
	MemoryMiB int
}

// Status returns the process of a VM; shown is false if the host does not show it as running at the given time.
func (s *Service) Status(vmid int, now time.Time) (status Status, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	p := s.processes[vmid]
	if !p.running() || now.Before(p.shown) {
		return Status{}, false
	}

	return Status{PID: p.pid, Since: p.since, MemoryMiB: p.MemoryMiB}, true
}

// MemoryMiB returns the memory of a node's processes.
func (s *Service) MemoryMiB(node string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.memoryMiB(node)
}

func (s *Service) memoryMiB(node string) int {
	mib := 0

	for _, p := range s.processes {
		if p.Node == node {
			mib += p.Claim.MemoryMiB
		}
	}

	return mib
}

// MemoryOf returns the memory of a running VM, otherwise 0.
func (s *Service) MemoryOf(vmid int) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.processes[vmid]; ok {
		return p.Claim.MemoryMiB
	}

	return 0
}

// ErrNoMemory is returned if a host has too little free memory.
var ErrNoMemory = fmt.Errorf("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")

// Begin reserves memory and devices of a host for a VM that is about to start. The error is [ErrNoMemory] if too little
// memory is free, or a device that another VM uses (qemu-server QemuServer/PCI.pm, reserve_pci_usage).
func (s *Service) Begin(vmid int, claim Claim, hostMemoryMiB int) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, address := range claim.PCI {
		if other, taken := s.owner(vmid, claim.Node, address); taken {
			return fmt.Errorf("PCI device '%s' already in use by VMID '%d'", address, other)
		}
	}

	if s.memoryMiB(claim.Node)+claim.MemoryMiB > hostMemoryMiB {
		return ErrNoMemory
	}

	s.processes[vmid] = &process{Claim: claim}

	return nil
}

// InUse reports whether another VM of a node uses one of the devices.
func (s *Service) InUse(vmid int, node string, addresses []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.ContainsFunc(addresses, func(address string) bool {
		_, taken := s.owner(vmid, node, address)
		return taken
	})
}

// owner returns the other VM that uses a device. The caller holds the lock.
func (s *Service) owner(vmid int, node, address string) (other int, taken bool) {
	for id, p := range s.processes {
		if id != vmid && p.Node == node && slices.Contains(p.PCI, address) {
			return id, true
		}
	}

	return 0, false
}

// Fail releases the resources of a VM that did not start.
func (s *Service) Fail(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.processes, vmid)
}

// Started records since when a VM runs, and from when on its host shows that.
func (s *Service) Started(vmid, pid int, since, shown time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.processes[vmid]; ok {
		p.pid, p.since, p.shown = pid, since, shown
	}
}

// Ended records that a VM has stopped. It returns its node and whether it must start again; ok is false if it did not run.
func (s *Service) Ended(vmid int) (node string, again, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	p := s.processes[vmid]
	if !p.running() {
		return "", false, false
	}

	delete(s.processes, vmid)

	return p.Node, p.reboot, true
}

// RequestReboot records whether a running VM must start again when it is off.
func (s *Service) RequestReboot(vmid int, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p := s.processes[vmid]; p.running() {
		p.reboot = on
	}
}

// Moved records that a VM runs on another node.
func (s *Service) Moved(vmid int, node string) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.processes[vmid]; ok {
		p.Node = node
	}
}

// EndAll ends all processes, as a power cut does. It returns the VMs that ran, sorted by ID.
func (s *Service) EndAll() []int {
	s.mu.Lock()
	defer s.mu.Unlock()

	var ran []int

	for vmid, p := range s.processes {
		if p.running() {
			ran = append(ran, vmid)
		}
	}

	clear(s.processes)
	slices.Sort(ran)

	return ran
}
