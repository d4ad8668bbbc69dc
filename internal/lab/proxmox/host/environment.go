// Package host is what all parts of an emulated Proxmox VE host share and none of them owns: its release and its clock, its
// lock files, its workers, and where it says that something has changed or went wrong.
package host

import (
	"context"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Environment is shared by all parts of a host. Each of its fields is safe for concurrent use, and may be used while a
// part holds its own lock: none of them calls back.
type Environment struct {
	Release schema.Release
	// Schema is the description of the release's API.
	Schema *schema.Schema
	// Seed decides everything that is left to chance.
	Seed [32]byte
	// Pace scales the time that operations take, Now is the host's clock.
	Pace pace.Pace
	Now  func() time.Time
	// Random draws what a real host draws at random.
	Random *Random
	// Nodes are the computers of the cluster.
	Nodes *hardware.Cluster
	// Locks are the lock files, which are held for as long as an operation takes.
	Locks *flock.Locks
	// Tasks are the workers, Faults what makes them fail.
	Tasks  *task.Workers
	Faults task.Faults
	// Changed asks for the host to be saved soon.
	Changed func()
	// Note records what the caller of the API is not told.
	Note func(what string, err error)
}

// Wait spends an assumed duration of the host.
func (e *Environment) Wait(ctx context.Context, d time.Duration) error { return e.Pace.Sleep(ctx, d) }
