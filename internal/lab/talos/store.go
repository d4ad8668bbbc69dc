package talos

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/atomicfile"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// store keeps a fleet in files: one for each machine, one for each written disk, one for the etcd memberships. Each is
// replaced atomically, so a crash leaves the old or the new version.
type store struct{ dir string }

// record is the persistent state of a machine.
type record struct {
	Hardware Hardware `json:"hardware"`
	// On reports whether the machine is switched on.
	On bool `json:"on"`
	// BootID is the ID of the current boot.
	BootID string `json:"bootID"`
	// Boots is the number of boots.
	Boots int `json:"boots"`
}

// Names below the directory of the store.
const (
	machineFolder = "machines"
	diskFolder    = "disks"
	keptFolder    = "snapshots"
	uploadFolder  = "uploads"
	etcdFile      = "etcd.json"
	suffix        = ".json"
)

func openStore(dir string) (*store, error) {
	if dir == "" {
		return nil, errors.New("no state directory is given")
	}

	s := &store{dir: dir}

	for _, folder := range []string{machineFolder, diskFolder, keptFolder, uploadFolder} {
		if err := os.MkdirAll(s.path(folder), 0o700); err != nil {
			return nil, fmt.Errorf("create the state directory: %w", err)
		}
	}

	return s, nil
}

func (s *store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func (s *store) machineFile(vmid int) string {
	return s.path(machineFolder, strconv.Itoa(vmid)+suffix)
}

func (s *store) diskFile(id string) string { return s.path(diskFolder, url.QueryEscape(id)+suffix) }

// uploadFile is the snapshot of etcd that was uploaded to a disk.
func (s *store) uploadFile(id string) string { return s.path(uploadFolder, url.QueryEscape(id)) }

func (s *store) snapshotFile(id, name string) string {
	return s.path(keptFolder, url.QueryEscape(id)+"@"+url.QueryEscape(name)+suffix)
}

func (s *store) saveSnapshot(id, name string, kept diskSnapshot) error {
	return write(s.snapshotFile(id, name), kept)
}

func (s *store) snapshot(id, name string) (diskSnapshot, error) {
	return read[diskSnapshot](s.snapshotFile(id, name))
}

func (s *store) removeSnapshot(id, name string) error { return remove(s.snapshotFile(id, name)) }

func (s *store) saveMachine(r record) error { return write(s.machineFile(r.Hardware.VMID), r) }

func (s *store) saveDisk(c contents) error { return write(s.diskFile(c.ID), c) }

func (s *store) saveEtcd(clusters []etcd.Cluster) error { return write(s.path(etcdFile), clusters) }

func (s *store) removeMachine(vmid int) error { return remove(s.machineFile(vmid)) }

func (s *store) removeDisk(id string) error { return remove(s.diskFile(id)) }

func (s *store) machines() ([]record, error) { return readAll[record](s.path(machineFolder)) }

func (s *store) disks() ([]contents, error) { return readAll[contents](s.path(diskFolder)) }

func (s *store) etcd() ([]etcd.Cluster, error) {
	clusters, err := read[[]etcd.Cluster](s.path(etcdFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	return clusters, err
}

func write(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}

	if err := atomicfile.Write(path, data, 0o600); err != nil {
		return fmt.Errorf("write the state: %w", err)
	}

	return nil
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove from the state: %w", err)
	}

	return nil
}

func read[T any](path string) (T, error) {
	var value T

	data, err := os.ReadFile(path)
	if err != nil {
		return value, fmt.Errorf("read the state: %w", err)
	}

	if err := json.Unmarshal(data, &value); err != nil {
		return value, fmt.Errorf("read the state: %s: %w", path, err)
	}

	return value, nil
}

// readAll reads the files of a folder, sorted by name. Remains of an interrupted write have another suffix.
func readAll[T any](folder string) ([]T, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}

	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !strings.HasSuffix(e.Name(), suffix)
	})

	all := make([]T, 0, len(entries))
	for _, entry := range entries {
		value, err := read[T](filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}

		all = append(all, value)
	}

	return all, nil
}
