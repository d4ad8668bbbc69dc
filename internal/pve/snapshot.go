package pve

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// Snapshot is a snapshot of a guest's disks and of its configuration, without its memory.
type Snapshot struct {
	// Name in Proxmox VE: a letter, then letters, digits, - and _, 2 to 40 characters.
	Name string
	// Description is any text.
	Description string
	// Taken is the time when it was taken; ignored by TakeSnapshot.
	Taken time.Time
	// Unfinished is what Proxmox VE was doing with it, "prepare" or "delete": a task works on it, or its host crashed meanwhile. No guest can go back
	// to such a snapshot. It is empty for a complete snapshot; ignored by TakeSnapshot.
	Unfinished string
}

// currentState is the entry of the list that is no snapshot (pve-guest-common, AbstractConfig.pm).
const currentState = "current"

// CanSnapshot reports whether every storage of a guest's disks can take snapshots of them.
func (r Reader) CanSnapshot(ctx context.Context, guest Guest) (bool, error) {
	var answer struct {
		HasFeature Flag `json:"hasFeature"`
	}
	err := r.get(ctx, &answer, guest.path("/feature"), "feature", "snapshot")
	return bool(answer.HasFeature), err
}

// Snapshots returns the snapshots of a guest, the oldest first, including unfinished ones.
func (r Reader) Snapshots(ctx context.Context, guest Guest) ([]Snapshot, error) {
	var listed []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Time        int64  `json:"snaptime"`
		State       string `json:"snapstate"`
	}
	if err := r.get(ctx, &listed, guest.path("/snapshot")); err != nil {
		return nil, err
	}
	var taken []Snapshot
	for _, one := range listed {
		if one.Name != currentState {
			taken = append(taken, Snapshot{Name: one.Name, Description: one.Description, Taken: time.Unix(one.Time, 0).UTC(), Unfinished: one.State})
		}
	}
	slices.SortStableFunc(taken, func(a, b Snapshot) int { return cmp.Or(a.Taken.Compare(b.Taken), cmp.Compare(a.Name, b.Name)) })
	return taken, nil
}

// TakeSnapshot takes a snapshot of a guest, and returns when it exists. It does not contain writes of a running guest that are still in the guest's
// memory.
func (c Connection) TakeSnapshot(ctx context.Context, guest Guest, snapshot Snapshot) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	body := map[string]any{"snapname": snapshot.Name, "description": snapshot.Description}
	if err := c.work(ctx, client, post, guest.path("/snapshot"), body); err != nil {
		return fmt.Errorf("the snapshot %s of %s cannot be taken: %w", snapshot.Name, guest, err)
	}
	return nil
}

// DescribeSnapshot replaces the description of a snapshot.
func (c Connection) DescribeSnapshot(ctx context.Context, guest Guest, snapshot Snapshot) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	path := guest.path("/snapshot/" + url.PathEscape(snapshot.Name) + "/config")
	if err := c.work(ctx, client, put, path, map[string]any{"description": snapshot.Description}); err != nil {
		return fmt.Errorf("the snapshot %s of %s cannot be described: %w", snapshot.Name, guest, err)
	}
	return nil
}

// DeleteSnapshot deletes a snapshot of a guest, and returns when it is gone.
func (c Connection) DeleteSnapshot(ctx context.Context, guest Guest, name string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	if err := c.work(ctx, client, remove, guest.path("/snapshot/"+url.PathEscape(name)), nil); err != nil {
		return fmt.Errorf("the snapshot %s of %s cannot be removed: %w", name, guest, err)
	}
	return nil
}
