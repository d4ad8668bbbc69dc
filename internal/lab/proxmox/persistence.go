package proxmox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// saved is the state file.
type saved struct {
	Format  int            `json:"format"`
	Release schema.Release `json:"release"`
	// State of the services, each with its own field names.
	State json.RawMessage `json:"state"`
	// Hosts are the described hosts so far; nil in the files of older labs.
	Hosts []Host `json:"hosts,omitempty"`
	// Time is when the file was written.
	Time time.Time `json:"time,omitzero"`
	// Tasks are the nodes' ended tasks, in the order of their end, and the running ones.
	Tasks []task.Record `json:"tasks"`
}

const stateFormat = 1

// keeper is a service with persistent state.
type keeper interface {
	// Save locks the service and returns its state, which is encoded as a JSON object; release unlocks the service.
	Save() (state any, release func())
	// Restore loads the state, as after a power cut at the given time. It reads only its own fields of the object.
	Restore(state []byte, at time.Time) error
}

// keepers returns the services with persistent state, in the order of their locks.
func (s *Server) keepers() []keeper {
	return []keeper{s.ha, s.vms, s.lxc, s.storages, s.network, s.mappings, s.nodes, s.cluster, s.users, s.env.Random}
}

// snapshot returns the state of all services at one moment.
func (s *Server) snapshot() ([]byte, error) {
	records := s.env.Tasks.List().Records()
	state := map[string]json.RawMessage{}

	for _, k := range s.keepers() {
		kept, release := k.Save()
		defer release() // all are held until the last one is encoded

		if err := merge(state, kept); err != nil {
			return nil, fmt.Errorf("write the host's state: %w", err)
		}
	}

	raw, err := json.Marshal(state)
	if err == nil {
		raw, err = json.Marshal(saved{
			Format: stateFormat, Release: s.config.Release, State: raw, Hosts: s.env.Nodes.Hosts(), Time: s.config.Now(),
			Tasks: records,
		})
	}

	if err != nil {
		return nil, fmt.Errorf("write the host's state: %w", err)
	}

	return raw, nil
}

// merge adds the fields of an object.
func merge(state map[string]json.RawMessage, kept any) error {
	raw, err := json.Marshal(kept)
	if err != nil {
		return err
	}

	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}

	maps.Copy(state, fields)

	return nil
}

// load builds the host from the state file, or a new one without a file.
func (s *Server) load() error {
	file, err := s.read()
	if err != nil {
		return err
	}

	all := hardware.Grown(file.Hosts, s.config.Hosts)

	err = hardware.Validate(all)
	if err != nil && file.Hosts != nil {
		return fmt.Errorf("%w: remove %s for a new host", err, s.config.StateFile)
	}

	if err != nil {
		return err
	}

	if file.State != nil {
		if err := s.restore(file); err != nil {
			return err
		}
	}

	s.equip(all, file.Hosts)

	return s.users.Adopt(s.config.Tokens, s.config.Accounts)
}

// read reads the state file. The result is empty without a file.
func (s *Server) read() (saved, error) {
	if s.config.StateFile == "" {
		return saved{}, nil
	}

	raw, err := os.ReadFile(s.config.StateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return saved{}, nil
	}

	if err != nil {
		return saved{}, fmt.Errorf("read the host's state: %w", err)
	}

	file, err := s.decode(raw)
	if err != nil {
		return file, fmt.Errorf("read the host's state from %s: %w: remove the file for a new host", s.config.StateFile, err)
	}

	return file, nil
}

// decode decodes the content of a state file.
func (s *Server) decode(raw []byte) (saved, error) {
	var file saved
	if err := json.Unmarshal(raw, &file); err != nil {
		return file, err
	}

	if file.Format != stateFormat || file.Release != s.config.Release || file.State == nil {
		return file, fmt.Errorf("it is of another host (format %d, proxmox ve %s)", file.Format, file.Release)
	}

	return file, nil
}

// restore restores the host as after a power cut: no VM and no worker runs.
func (s *Server) restore(file saved) error {
	for _, k := range s.keepers() {
		if err := k.Restore(file.State, file.Time); err != nil {
			return fmt.Errorf("restore the host's state: %w", err)
		}
	}

	s.env.Tasks.List().Restore(file.Tasks)

	return nil
}

// recover restores the state that was on the disks at a power cut.
func (s *Server) recover(left []byte) error {
	file, err := s.decode(left)
	if err == nil {
		err = s.restore(file)
	}

	if err != nil {
		return fmt.Errorf("recover from the power cut: %w", err)
	}

	s.env.Changed()

	return nil
}

// save replaces the state file atomically; only the saver calls it. It contains hashes of secrets, so only its owner can read it.
func (s *Server) save() error {
	file := s.config.StateFile
	if file == "" {
		return nil
	}

	raw, err := s.snapshot()
	if err != nil {
		return err
	}

	if err := atomicfile.WriteBeside(file, raw, 0o600); err != nil {
		return fmt.Errorf("write the host's state: %w", err)
	}

	return nil
}
