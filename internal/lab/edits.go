package lab

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// edits watches the files of inventories while the lab runs. A host, storage or GPU that is added there exists from the next
// request on.
type edits struct {
	// dirs are the folders of the inventories.
	dirs []string
	// describe describes the hosts by what the files contain now.
	describe func() ([]proxmox.Host, error)

	mu   sync.Mutex
	seen []stamp // of the files of each folder
}

// stamp identifies a version of a file.
type stamp struct {
	written time.Time
	bytes   int64
}

// hosts returns the hosts that the files describe, or nil if the files have not changed since the last call. Invalid files,
// e.g. one that is being written, describe nothing; the operator's command reports what is wrong with them.
func (e *edits) hosts() []proxmox.Host {
	e.mu.Lock()
	defer e.mu.Unlock()
	var now []stamp
	for _, dir := range e.dirs {
		kind, err := manifest.KindOf(dir)
		if err != nil {
			return nil
		}
		for _, name := range kind.Files() {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil {
				return nil
			}
			now = append(now, stamp{info.ModTime(), info.Size()})
		}
	}
	if slices.Equal(now, e.seen) {
		return nil
	}
	e.seen = now // set before the files are read, so that a write in between is not missed
	hosts, err := e.describe()
	if err != nil {
		return nil
	}
	return hosts
}
