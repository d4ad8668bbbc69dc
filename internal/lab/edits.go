package lab

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
)

// edits are those of the inventory's files while the lab runs: what they name besides, a host, a storage, a GPU, is there
// for the next request, whoever makes it.
type edits struct {
	dir string

	mu   sync.Mutex
	seen [2]stamp // of cluster.yaml and nodes.yaml
}

// stamp reports whether a file was written.
type stamp struct {
	written time.Time
	bytes   int64
}

// hosts are those that the files describe, nil unless they were written since this was asked last. Files that are not
// sound, as one that is being written, describe nothing; the operator's command says what is wrong with them.
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
	e.seen = now // before they are read, lest what is written meanwhile is missed
	inv, err := inventory.Load(e.dir)
	if err != nil {
		return nil
	}
	return hosts(inv)
}
