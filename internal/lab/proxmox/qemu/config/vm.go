package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// VM is the content of a virtual machine's configuration file.
type VM struct {
	ID     int              `json:"id"`
	Node   string           `json:"node"`
	Config *vmconfig.Config `json:"config"`

	// LockUntil keeps the configuration's lock visible until then, for a fault.
	LockUntil time.Time `json:"-"`
	// Snapshots are the former configurations that the file keeps, by name.
	Snapshots map[string]*Snapshot `json:"snapshots,omitempty"`
}

// Snapshot is a former state of a machine.
type Snapshot struct {
	Config      *vmconfig.Config `json:"config"`
	Description string           `json:"description,omitempty"`
	// Taken is in seconds since 1970.
	Taken int64 `json:"taken"`
	// State is the volume with the memory of a running machine, or "".
	State string `json:"state,omitempty"`
}

// Name returns the VM's name, or the default name.
func (m *VM) Name() string {
	if name := m.Config.Get("name"); name != "" {
		return name
	}

	return strconv.Itoa(m.ID)
}

// Lock returns the operation that holds the configuration's lock, or "".
func (m *VM) Lock(now time.Time) string {
	if lock := m.Config.Lock(); lock != "" {
		return lock
	}

	if now.Before(m.LockUntil) {
		return "clone"
	}

	return ""
}

// CheckLock returns an error for a locked configuration (pve-guest-common AbstractConfig.pm, check_lock).
func (m *VM) CheckLock(now time.Time) error {
	if lock := m.Lock(now); lock != "" {
		return fmt.Errorf("VM is locked (%s)", lock)
	}

	return nil
}

// CheckProtection returns an error for a protected VM.
func (m *VM) CheckProtection(problem string) error {
	if m.Config.Flag("protection") {
		return fmt.Errorf("%s - protection mode enabled", problem)
	}

	return nil
}

// Snapshot returns one of the VM's snapshots.
func (m *VM) Snapshot(name string) (*Snapshot, error) {
	taken, ok := m.Snapshots[name]
	if !ok {
		return nil, fmt.Errorf("snapshot '%s' does not exist", name)
	}

	return taken, nil
}

// InSnapshot reports whether a snapshot uses a volume.
func (m *VM) InSnapshot(volume string) bool {
	for _, taken := range m.Snapshots {
		for _, key := range taken.Config.DriveKeys() {
			if VolumeOf(taken.Config.Get(key)) == volume {
				return true
			}
		}
	}

	return false
}

// AddUnused adds a volume that no drive uses any more as an unused one.
func (m *VM) AddUnused(volume string) {
	for i := range 256 {
		key := fmt.Sprintf("unused%d", i)

		switch m.Config.Get(key) {
		case volume:
			return
		case "":
			m.Config.Set(key, volume)
			return
		}
	}
}

// VolumeOf returns the volume in a drive's setting.
func VolumeOf(drive string) string {
	volume, _, _ := strings.Cut(drive, ",")
	return volume
}

// Shown returns the settings of a snapshot in the format of the API.
func (t *Snapshot) Shown() map[string]string {
	values := t.Config.Shown()
	delete(values, "digest")

	values["snaptime"] = strconv.FormatInt(t.Taken, 10)
	if t.Description != "" {
		values["description"] = t.Description
	}

	if t.State != "" {
		values["vmstate"] = t.State
	}

	return values
}
