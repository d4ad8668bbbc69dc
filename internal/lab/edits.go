package lab

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// edits watches the inventory's files while the lab runs. A host, storage or GPU that is added there exists from the next
// request on.
type edits struct {
	dir string

	mu   sync.Mutex
	seen [2]stamp // of cluster.yaml and nodes.yaml
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
	var now [2]stamp
	for i, name := range []string{inventory.ClusterFile, inventory.NodesFile} {
		info, err := os.Stat(filepath.Join(e.dir, name))
		if err != nil {
			return nil
		}
		now[i] = stamp{info.ModTime(), info.Size()}
	}
	if now == e.seen {
		return nil
	}
	e.seen = now // set before the files are read, so that a write in between is not missed
	inv, err := inventory.Load(e.dir)
	if err != nil {
		return nil
	}
	return hosts(inv)
}
