package qemu

// VM is a virtual machine as the host's overview shows it.
type VM struct {
	ID       int
	Node     string
	Name     string
	Running  bool
	Template bool
	// Lock is the operation that holds the configuration, or "".
	Lock string
	// Settings is the configuration in Proxmox VE's normal form.
	Settings map[string]string
}

// VMs lists the VMs by ID.
func (s *Service) VMs() []VM {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []VM{}

	for _, m := range s.sorted() {
		list = append(list, VM{
			ID: m.ID, Node: m.Node, Name: m.Config.Get("name"), Running: m.Running, Template: m.Config.Template(),
			Lock: m.lock(s.env.Now()), Settings: m.Config.Clone().Values,
		})
	}

	return list
}

// Statuses are the VMs of all nodes by ID.
func (s *Service) Statuses() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := make([]Status, 0, len(s.vms))
	for _, m := range s.sorted() {
		list = append(list, s.statusOf(m))
	}

	return list
}

// Exists reports whether a VMID is taken.
func (s *Service) Exists(vmid int) bool {
	_, _, ok := s.Find(vmid)
	return ok
}

// Find tells where a VM is and whether it runs; ok is false for one that is not there.
func (s *Service) Find(vmid int) (node string, running, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, ok := s.vms[vmid]
	if !ok {
		return "", false, false
	}

	return m.Node, m.Running, true
}

// HostOf names the host that a VM is on, "" for one that is not there.
func (s *Service) HostOf(vmid int) string {
	node, _, _ := s.Find(vmid)
	return node
}

// MemoryMiB is the memory of the VMs that run on a node.
func (s *Service) MemoryMiB(node string) int {
	s.mu.Lock()
	defer s.mu.Unlock()

	mib := 0

	for _, m := range s.vms {
		if m.Node == node {
			mib += m.Memory
		}
	}

	return mib
}
