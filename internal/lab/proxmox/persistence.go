package proxmox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// saved is the state file.
type saved struct {
	Format  int            `json:"format"`
	Release schema.Release `json:"release"`
	State   *state         `json:"state"`
	// Hosts are what was described of them so far; nil in the files of older labs.
	Hosts []Host `json:"hosts,omitempty"`
	// Time is when it was written.
	Time time.Time `json:"time,omitzero"`
	// Tasks are those that the nodes remember, the first to end first, and those that run.
	Tasks []task.Record `json:"tasks"`
}

const stateFormat = 1

// load fills in the state: from the state file where there is one, else that of a fresh host.
func (s *Server) load() error {
	file, err := s.read()
	if err != nil {
		return err
	}

	all := grown(file.Hosts, s.config.Hosts)

	fresh, err := s.config.stateOf(all, file.Hosts)
	if err != nil && file.Hosts != nil {
		return fmt.Errorf("%w: remove %s for a new host", err, s.config.StateFile)
	}

	if err != nil {
		return err
	}

	s.nodes.Store(&all)
	s.state = fresh

	if file.State != nil {
		s.restore(file, fresh)
	}

	return nil
}

// read reads the state file; it is empty when there is none.
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

// decode reads a state file's contents.
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

// restore brings the host back as after a power cut: no VM runs, workers that did are gone, and what the
// configuration adds to the old host is there too.
func (s *Server) restore(file saved, fresh *state) {
	old := file.State
	old.adopt(fresh)
	old.Access.Adopt(fresh.Access)

	if old.HA == nil {
		old.HA = fresh.HA
	}

	for _, m := range old.VMs {
		m.Running, m.PID, m.PCI, m.Memory, m.Since = false, 0, nil, 0, time.Time{}
	}

	for _, kept := range old.Statistics {
		kept.stopped(file.Time)
	}

	s.state = old
	s.tasks.Restore(file.Tasks)
}

// snapshot is the host as it is now.
func (s *Server) snapshot() ([]byte, error) {
	tasks := s.tasks.Records()

	s.mu.Lock()
	defer s.mu.Unlock()

	raw, err := json.Marshal(saved{Format: stateFormat, Release: s.config.Release, State: s.state, Hosts: s.hosts(), Time: s.config.Now(), Tasks: tasks})
	if err != nil {
		return nil, fmt.Errorf("write the host's state: %w", err)
	}

	return raw, nil
}

// saver writes the state file a moment after something changed, so that a killed lab loses next to nothing.
type saver struct {
	server *Server
	dirty  chan struct{}
	stopc  chan struct{}
	done   chan error
}

// restDelay collects the changes of a burst into one writing.
const restDelay = 100 * time.Millisecond

func (v *saver) start(s *Server) {
	v.server = s
	v.dirty = make(chan struct{}, 1)
	v.stopc = make(chan struct{})
	v.done = make(chan error, 1)

	go v.run()
}

func (v *saver) run() {
	for {
		select {
		case <-v.stopc:
			v.done <- v.save()
			return
		case <-v.dirty:
		}

		select {
		case <-v.stopc:
			v.done <- v.save()
			return
		case <-time.After(restDelay):
		}

		if err := v.save(); err != nil {
			v.server.journal.note("state not saved", err)
		}
	}
}

// stop saves a last time. A second stop does nothing.
func (v *saver) stop() error {
	select {
	case <-v.stopc:
		return nil
	default:
		close(v.stopc)
		return <-v.done
	}
}

// save replaces the state file as a whole. It holds hashes of secrets and is for the owner alone.
func (v *saver) save() error {
	file := v.server.config.StateFile
	if file == "" {
		return nil
	}

	raw, err := v.server.snapshot()
	if err != nil {
		return err
	}

	temporary, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write the host's state: %w", err)
	}

	_, err = temporary.Write(raw)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}

	if err != nil {
		return fmt.Errorf("write the host's state: %w", errors.Join(err, os.Remove(temporary.Name())))
	}

	return nil
}

// changed asks for a saving soon.
func (s *Server) changed() {
	select {
	case s.saver.dirty <- struct{}{}:
	default:
	}
}
