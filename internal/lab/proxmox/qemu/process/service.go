// Package process is the QEMU processes of a cluster: which VMs run, since when, and what of their hosts they have taken. None of
// them outlives a power cut, so nothing is kept. The service's lock is held for moments, in which it calls nobody.
package process

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Claim is what a VM takes of its host while it runs.
type Claim struct {
	Node      string
	MemoryMiB int
	// PCI are the addresses of the devices that are passed through.
	PCI []string
}

// process is QEMU for one VM. It has no PID while it starts.
type process struct {
	Claim

	pid   int
	since time.Time
	// shown is when the status turns to running; it lags only when a fault asks for it.
	shown time.Time
	// reboot is set while a reboot waits for the machine to be off.
	reboot bool
}

func (p *process) running() bool { return p != nil && p.pid != 0 }

// Service is the processes by VMID. It is safe for concurrent use.
type Service struct {
	mu        sync.Mutex
	processes map[int]*process
}

// New is a cluster where nothing runs.
func New() *Service { return &Service{processes: map[int]*process{}} }

// Running reports whether a VM runs.
func (s *Service) Running(vmid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.processes[vmid].running()
}

// Status is a process that runs.
type Status struct {
	PID       int
	Since     time.Time
	MemoryMiB int
}

// Status shows the process of a VM; shown is false for a VM that does not run as far as its host can see at a time.
func (s *Service) Status(vmid int, now time.Time) (status Status, shown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	p := s.processes[vmid]
	if !p.running() || now.Before(p.shown) {
		return Status{}, false
	}

	return Status{PID: p.pid, Since: p.since, MemoryMiB: p.MemoryMiB}, true
}

// MemoryMiB is the memory that the processes of a node have.
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

// MemoryOf is the memory that a VM runs with, 0 for one that does not.
func (s *Service) MemoryOf(vmid int) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.processes[vmid]; ok {
		return p.Claim.MemoryMiB
	}

	return 0
}

// ErrNoMemory is a host that has too little memory left.
var ErrNoMemory = fmt.Errorf("kvm: cannot set up guest memory 'pc.ram': Cannot allocate memory")

// Begin takes memory and devices of a host for a VM that is about to start. It fails with [ErrNoMemory] when the host has less
// left, and when another VM has one of the devices (qemu-server QemuServer/PCI.pm, reserve_pci_usage).
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

// InUse reports whether another VM of a node has one of the devices.
func (s *Service) InUse(vmid int, node string, addresses []string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.ContainsFunc(addresses, func(address string) bool {
		_, taken := s.owner(vmid, node, address)
		return taken
	})
}

// owner is another VM that has a device. The lock is held.
func (s *Service) owner(vmid int, node, address string) (other int, taken bool) {
	for id, p := range s.processes {
		if id != vmid && p.Node == node && slices.Contains(p.PCI, address) {
			return id, true
		}
	}

	return 0, false
}

// Fail gives back what was taken for a VM that did not start.
func (s *Service) Fail(vmid int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.processes, vmid)
}

// Started records that a VM runs since a time, and from when on its host shows that.
func (s *Service) Started(vmid, pid int, since, shown time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if p, ok := s.processes[vmid]; ok {
		p.pid, p.since, p.shown = pid, since, shown
	}
}

// Ended records that a VM does not run any more. It returns the node that it was on, and whether it is to start again; ok is
// false for one that did not run.
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

// RequestReboot records whether a VM that runs is to start again when it is off.
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

// EndAll ends all processes, as a power cut does, and returns the VMs that ran by ID.
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
