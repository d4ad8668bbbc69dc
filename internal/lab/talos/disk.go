package talos

import (
	"errors"
	"fmt"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"

	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// contents is the data on a disk: Talos or user volumes. A disk without contents is blank.
type contents struct {
	// ID of the disk.
	ID string `json:"id"`
	// Partitions in the order of the disk's table.
	Partitions []partition `json:"partitions,omitempty"`
	// Release is the system that boots (partitions EFI or BOOT); zero on a disk without Talos.
	Release Release `json:"release,omitzero"`
	// Previous is the system to which a rollback returns, nil after the first installation.
	Previous *Release `json:"previous,omitempty"`
	// Untried reports whether Release was installed by an upgrade and has not become ready yet (partition META, tag Upgrade).
	Untried bool `json:"untried,omitempty"`
	// Staged is the release that the next boot installs first (partition META).
	Staged *Release `json:"staged,omitempty"`
	// Config is the machine configuration, empty after a reset (partition STATE).
	Config []byte `json:"config,omitempty"`
	// Identity is the node's identity for cluster discovery (partition STATE).
	Identity string `json:"identity,omitempty"`
	// Etcd is the etcd data directory (partition EPHEMERAL).
	Etcd etcd.Data `json:"etcd,omitzero"`
}

// installed reports whether Talos is installed on the disk.
func (c contents) installed() bool { return c.Release.Version != "" }

// disk is a disk with contents. It is safe for concurrent use.
type disk struct {
	store *store

	mu       sync.Mutex
	contents contents
	parsed   config.Provider // of contents.Config; nil when there is none
	erased   bool            // no further writes are possible
}

// errErased is returned for a write to a wiped disk.
var errErased = errors.New("the disk was wiped")

// newDisk returns a disk with contents that were validated when they were written.
func newDisk(s *store, c contents) (*disk, error) {
	d := &disk{store: s, contents: c}

	if len(c.Config) == 0 {
		return d, nil
	}

	parsed, err := configloader.NewFromBytes(c.Config)
	if err != nil {
		return nil, fmt.Errorf("machine configuration on disk %s: %w", c.ID, err)
	}

	d.parsed = parsed

	return d, nil
}

func (d *disk) read() contents {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.contents
}

// config returns the machine configuration on the disk, nil for none.
func (d *disk) config() config.Provider {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.parsed
}

// change writes to the disk. After an error the disk is unchanged.
func (d *disk) change(change func(*contents)) error {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.apply(change)
}

func (d *disk) apply(change func(*contents)) error {
	if d.erased {
		return errErased
	}

	changed := d.contents
	change(&changed)

	if err := d.store.saveDisk(changed); err != nil {
		return err
	}

	d.contents = changed

	return nil
}

// writeConfig writes a machine configuration to the disk.
func (d *disk) writeConfig(cfg config.Provider) error {
	raw, err := cfg.Bytes()
	if err != nil {
		return fmt.Errorf("encode the machine configuration: %w", err)
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	if err := d.apply(func(c *contents) { c.Config = raw }); err != nil {
		return err
	}

	d.parsed = cfg

	return nil
}

// erase makes the disk blank.
func (d *disk) erase() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.erased = true

	return d.store.removeDisk(d.contents.ID)
}

// wipeState erases partition STATE: the machine configuration and the node's identity.
func (d *disk) wipeState() error {
	d.mu.Lock()
	defer d.mu.Unlock()

	if err := d.apply(func(c *contents) { c.Config, c.Identity = nil, "" }); err != nil {
		return err
	}

	d.parsed = nil

	return nil
}
