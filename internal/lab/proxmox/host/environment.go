// Package host has what all parts of an emulated Proxmox VE host share: release, clock, lock files, workers, and the
// notification of changes and errors.
package host

import (
	"context"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmlist"
)

// Environment is shared by all parts of a host. Its fields are safe for concurrent use, and may be used while a part holds
// its own lock: none of them calls back.
type Environment struct {
	Release schema.Release
	// Schema is the API description of the release.
	Schema *schema.Schema
	// Seed determines everything that is random.
	Seed [32]byte
	// Pace scales the duration of operations. Now is the host's clock.
	Pace pace.Pace
	Now  func() time.Time
	// Random generates what a real host generates at random.
	Random *Random
	// Nodes are the computers of the cluster.
	Nodes *hardware.Cluster
	// Guests are the IDs of VMs and containers.
	Guests *vmlist.List
	// Locks are the lock files, which are held during an operation.
	Locks *flock.Locks
	// Tasks are the workers. Faults makes them fail.
	Tasks  *task.Workers
	Faults task.Faults
	// Changed requests that the state is saved soon.
	Changed func()
	// Note logs what the API does not return to the caller.
	Note func(what string, err error)
}

// Wait waits for an assumed duration of the host.
func (e *Environment) Wait(ctx context.Context, d time.Duration) error { return e.Pace.Sleep(ctx, d) }
