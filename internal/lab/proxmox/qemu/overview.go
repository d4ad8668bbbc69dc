package qemu

import (
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
)

// VM is a virtual machine in the host's overview.
type VM struct {
	ID       int
	Node     string
	Name     string
	Running  bool
	Template bool
	// Lock is the operation that holds the configuration's lock, or "".
	Lock string
	// Settings is the configuration in Proxmox VE's normal form.
	Settings map[string]string
}

// VMs returns the VMs, sorted by ID.
func (s *Service) VMs() []VM {
	list := []VM{}

	s.configs.Each(func(m *config.VM) {
		list = append(list, VM{
			ID: m.ID, Node: m.Node, Name: m.Config.Get("name"), Running: s.processes.Running(m.ID), Template: m.Config.Template(),
			Lock: m.Lock(s.env.Now()), Settings: m.Config.Clone().Values,
		})
	})

	return list
}

// Statuses returns the status of the VMs of all nodes, sorted by ID.
func (s *Service) Statuses() []Status {
	list := []Status{}
	s.configs.Each(func(m *config.VM) { list = append(list, s.statusOf(m)) })

	return list
}

// Exists reports whether a VMID is in use.
func (s *Service) Exists(vmid int) bool {
	_, ok := s.configs.Node(vmid)
	return ok
}

// Find returns the node of a VM and whether the VM runs; ok is false if it does not exist.
func (s *Service) Find(vmid int) (node string, running, ok bool) {
	node, ok = s.configs.Node(vmid)

	return node, s.processes.Running(vmid), ok
}

// HostOf returns the host of a VM, "" if it does not exist.
func (s *Service) HostOf(vmid int) string {
	node, _ := s.configs.Node(vmid)
	return node
}

// MemoryMiB returns the memory of the running VMs on a node.
func (s *Service) MemoryMiB(node string) int { return s.processes.MemoryMiB(node) }
