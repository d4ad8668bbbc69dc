package storages

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
)

// CheckVolume requires access to an existing volume (pve-storage Storage.pm, check_volume_access).
func (s *Service) CheckVolume(identity, node string, vmid int, volume string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.checkVolume(identity, node, vmid, volume)
}

// checkVolume is CheckVolume for a caller that holds the lock.
func (s *Service) checkVolume(identity, node string, vmid int, volume string) error {
	id, name, found := strings.Cut(volume, ":")
	if !found || strings.HasPrefix(volume, "/") {
		if identity == access.Root {
			return nil
		}

		return fmt.Errorf("Only root can pass arbitrary filesystem paths.")
	}

	st, err := s.on(id, node)
	if err != nil {
		return err
	}

	if s.permissions.Allowed(identity, "/storage/"+id, "Datastore.Allocate") {
		return nil
	}

	if strings.HasPrefix(name, "iso/") || strings.HasPrefix(name, "vztmpl/") || strings.HasPrefix(name, "import/") {
		return s.permissions.Check(identity, "/storage/"+id, true, "Datastore.AllocateSpace", "Datastore.Audit")
	}

	v, ok := st.Find(node, volume)

	switch {
	case ok && v.VMID == vmid:
		return nil
	case ok && v.VMID != 0:
		if err := s.permissions.Check(identity, "/storage/"+id, false, "Datastore.Audit"); err != nil {
			return err
		}

		return s.permissions.Check(identity, "/vms/"+strconv.Itoa(v.VMID), false, "VM.Config.Disk")
	default:
		return fmt.Errorf("missing privileges to access %s", volume)
	}
}
