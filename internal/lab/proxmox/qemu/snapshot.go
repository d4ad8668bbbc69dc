package qemu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// snapshot is a machine as it was at a time.
type snapshot struct {
	Config      *vmconfig.Config `json:"config"`
	Description string           `json:"description,omitempty"`
	// Taken is in seconds since 1970.
	Taken int64 `json:"taken"`
	// State is the volume with the memory of a machine that ran, or "".
	State string `json:"state,omitempty"`
}

// notInSnapshots are the settings that a snapshot does not keep (pve-guest-common AbstractConfig.pm,
// __snapshot_copy_config).
func notInSnapshots(key string) bool {
	return key == "lock" || key == "description" || unusedKey.MatchString(key)
}

// snapshot returns one of a machine's snapshots.
func (m *vm) snapshot(name string) (*snapshot, error) {
	taken, ok := m.Snapshots[name]
	if !ok {
		return nil, fmt.Errorf("snapshot '%s' does not exist", name)
	}

	return taken, nil
}

// takeSnapshot answers POST …/snapshot (API2/Qemu.pm, snapshot; AbstractConfig.pm, snapshot_create).
func (s *Service) takeSnapshot(c *api.Call) (any, error) {
	name := c.Params.Get("snapname")
	if name == "current" || strings.EqualFold(name, "pending") {
		return nil, fmt.Errorf("unable to use snapshot name '%s' (reserved name)", strings.ToLower(name))
	}

	return s.forkOn(c, "qmsnapshot", func(w *task.Worker) error {
		if err := s.onVM(c, func(m *vm) error { return s.prepareSnapshot(c, m, name) }); err != nil {
			return err
		}

		if err := s.env.Wait(w.Ctx, pace.VMResize); err != nil {
			return err
		}

		return s.onVM(c, func(m *vm) error { return s.commitSnapshot(m, name) })
	})
}

// prepareSnapshot checks whether the machine can be kept, and locks its configuration.
func (s *Service) prepareSnapshot(c *api.Call, m *vm, name string) error {
	if m.Config.Template() {
		return errors.New("you can't take a snapshot if it's a template")
	}

	if err := s.checkLock(m); err != nil {
		return err
	}

	if _, taken := m.Snapshots[name]; taken {
		return fmt.Errorf("snapshot name '%s' already used", name)
	}

	if err := s.checkSnapshots(m); err != nil {
		return err
	}

	kept := &snapshot{Config: vmconfig.New(), Description: c.Params.Get("description"), Taken: s.env.Now().Unix()}

	for _, key := range m.Config.Keys() {
		if !notInSnapshots(key) {
			kept.Config.Set(key, m.Config.Get(key))
		}
	}

	if c.Params.Bool("vmstate", false) && m.Running {
		state, err := s.saveMemory(m, name)
		if err != nil {
			return err
		}

		kept.State = state
	}

	if m.Snapshots == nil {
		m.Snapshots = map[string]*snapshot{}
	}

	m.Snapshots[name] = kept
	m.Config.Set("lock", "snapshot")
	s.env.Changed()

	return nil
}

// checkSnapshots refuses a machine with a volume whose storage takes no snapshots.
func (s *Service) checkSnapshots(m *vm) error {
	able := true

	err := s.eachVolume(m.Node, m.Config, func(v storage.Volume) error {
		can, err := s.storages.CanSnapshot(m.Node, v.ID)
		able = able && can

		return err
	})
	if err == nil && !able {
		err = errors.New("snapshot feature is not available")
	}

	return err
}

// driverStateMiB is what Proxmox VE allows for the state of devices (QemuConfig.pm, __snapshot_save_vmstate).
const driverStateMiB = 500

// saveMemory allocates what a machine's memory is saved to, beside its first disk.
func (s *Service) saveMemory(m *vm, name string) (string, error) {
	drives, err := s.drives(m.Config)
	if err != nil {
		return "", err
	}

	at := slices.IndexFunc(drives, func(d *vmconfig.Drive) bool { return !d.CDROM() && d.Storage() != "" })
	if at < 0 {
		return "", errors.New("no storage for the state of the machine")
	}

	v, err := s.storages.Allocate(drives[at].Storage(), storage.Request{
		Node: m.Node, VMID: m.ID, Name: fmt.Sprintf("vm-%d-state-%s", m.ID, name), Format: "raw",
		Bytes: uint64(2*m.Memory+driverStateMiB) << 20, Created: s.env.Now().Unix(),
	})
	if err != nil {
		return "", err
	}

	return v.ID, nil
}

// commitSnapshot marks the disks and makes the snapshot the parent of what comes.
func (s *Service) commitSnapshot(m *vm, name string) error {
	disks, err := s.disksOf(m.Node, m.Snapshots[name].Config)
	if err != nil {
		return err
	}

	err = s.eachVolume(m.Node, m.Config, func(v storage.Volume) error {
		return s.storages.Snapshot(m.Node, v.ID, name)
	})
	if err != nil {
		return err
	}

	s.machines.SnapshotDisks(m.ID, disks, name)
	m.Config.Delete("lock")
	m.Config.Set("parent", name)
	s.env.Changed()

	return nil
}

// isKept reports whether a snapshot needs a volume.
func (s *Service) isKept(m *vm, volume string) bool {
	for _, taken := range m.Snapshots {
		for _, key := range taken.Config.DriveKeys() {
			if volumeOf(taken.Config.Get(key)) == volume {
				return true
			}
		}
	}

	return false
}

// forkOn begins a task on the machine of a call, under the lock of its configuration.
func (s *Service) forkOn(c *api.Call, kind string, work func(*task.Worker) error) (any, error) {
	if err := s.onVM(c, func(*vm) error { return nil }); err != nil {
		return nil, err
	}

	return s.env.Tasks.Fork(c.Node, kind, strconv.Itoa(c.VMID), c.Identity, c.VMID, work)
}

// onVM does something with the machine of a call.
func (s *Service) onVM(c *api.Call, do func(*vm) error) error {
	return s.locked(func() error {
		m, err := s.find(c.Node, c.VMID)
		if err != nil {
			return err
		}

		return do(m)
	})
}

// eachVolume goes through the disks of a configuration that are there.
func (s *Service) eachVolume(node string, conf *vmconfig.Config, do func(storage.Volume) error) error {
	drives, err := s.drives(conf)
	if err != nil {
		return err
	}

	for _, drive := range drives {
		if drive.CDROM() || drive.Storage() == "" {
			continue
		}

		v, err := s.storages.Volume(node, drive.Volume())
		if err != nil {
			return err
		}

		if err := do(v); err != nil {
			return err
		}
	}

	return nil
}

// disksOf are the identities of a configuration's disks.
func (s *Service) disksOf(node string, conf *vmconfig.Config) ([]string, error) {
	var identities []string

	err := s.eachVolume(node, conf, func(v storage.Volume) error {
		identities = append(identities, v.Identity)
		return nil
	})

	return identities, err
}

func (s *Service) snapshotMethods() []api.Method {
	const all = "/nodes/{node}/qemu/{vmid}/snapshot"

	return []api.Method{
		api.Get(all, s.listSnapshots),
		api.Post(all, s.takeSnapshot),
		api.Get(all+"/{snapname}", s.snapshotIndex),
		api.Delete(all+"/{snapname}", s.dropSnapshot),
		api.Get(all+"/{snapname}/config", s.getSnapshot),
		api.Put(all+"/{snapname}/config", s.describeSnapshot),
		api.Post(all+"/{snapname}/rollback", s.rollBack),
	}
}
