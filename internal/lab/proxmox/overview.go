package proxmox

import "fmt"

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

// VMs lists the host's VMs by ID.
func (s *Server) VMs() []VM {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []VM{}

	for _, m := range s.state.sorted() {
		list = append(list, VM{
			ID: m.ID, Node: m.Node, Name: m.Config.Get("name"), Running: m.Running, Template: m.Config.Template(),
			Lock: m.lock(s.config.Now()), Settings: m.Config.Clone().Values,
		})
	}

	return list
}

// Volumes lists the volume IDs of all storages, as NODE/VOLUME for those that are not shared.
func (s *Server) Volumes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	list := []string{}

	for _, id := range sortedNames(s.state.Storages) {
		st := s.state.Storages[id]

		for i, host := range s.hosts() {
			volumes, err := st.Volumes(host.Name)
			if err != nil || st.Shared && i > 0 {
				continue
			}

			for _, v := range volumes {
				if st.Shared {
					list = append(list, v.ID)
				} else {
					list = append(list, fmt.Sprintf("%s/%s", host.Name, v.ID))
				}
			}
		}
	}

	return list
}
