package lxc

import (
	"strconv"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// maker allocates the volumes of a container, and frees them if a later one fails (pve-container LXC.pm, create_disks).
type maker struct {
	s    *Service
	w    *task.Worker
	node string
	vmid int
	made []string
}

// makeAll makes the mount points and writes them into the configuration.
func (m *maker) makeAll(conf *vmconfig.Config, mounts schema.Params) error {
	values := map[string]string{}
	for _, key := range mounts.Names() {
		values[key] = mounts.Get(key)
	}

	for _, key := range volumes(values, false) {
		text, err := m.make(key, values[key])
		if err != nil {
			return err
		}

		conf.Set(key, text)
	}

	return nil
}

// make allocates the volume of a mount point if it asks for a new one, and returns the setting.
func (m *maker) make(key, text string) (string, error) {
	values, err := m.s.parse(key, text)
	if err != nil {
		return "", err
	}

	if asked := newVolume.FindStringSubmatch(values["volume"]); asked != nil {
		v, err := m.allocate(asked[1], asked[2])
		if err != nil {
			return "", err
		}

		values["volume"], values["size"] = v.ID, schema.FormatSize(v.Size)
	}

	return m.s.print(key, values), nil
}

func (m *maker) allocate(id, gib string) (storage.Volume, error) {
	release, err := m.s.parts.Storages.Lock(m.w.Ctx, m.w.Info, m.node, id)
	if err != nil {
		return storage.Volume{}, err
	}
	defer release()

	size, err := strconv.ParseFloat(gib, 64)
	if err != nil {
		return storage.Volume{}, err
	}

	identity, err := m.s.env.Random.UUID(m.vmid, "disk")
	if err != nil {
		return storage.Volume{}, err
	}

	v, err := m.s.parts.Storages.Allocate(id, storage.Request{
		Node: m.node, VMID: m.vmid, Content: storage.RootDir, Bytes: uint64(size*(1<<20)) << 10, Identity: identity,
		Created: m.s.env.Now().Unix(),
	})
	if err == nil {
		m.made = append(m.made, v.ID)
	}

	return v, err
}

// undo frees the volumes.
func (m *maker) undo() {
	for _, id := range m.made {
		m.s.parts.Storages.Free(m.node, id)
	}
}
