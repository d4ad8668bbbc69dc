package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// poolMark is the comment of the pools that em-infra has made. What has another comment belongs to someone else.
const poolMark = "Made by em-infra, deleted with the last machine in it."

// EnsurePool makes a resource pool unless there is one of that name, and reports whether it has.
func (c Connection) EnsurePool(ctx context.Context, name string) (made bool, err error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	pool, err := c.pool(ctx, client, name)
	if err != nil || pool != nil {
		return false, err
	}
	err = client.NewPool(ctx, name, poolMark)
	switch {
	case err == nil:
		return true, nil
	case isPoolThere(err):
		return false, nil // someone else was faster, or the token may not look at it
	case proxmox.IsNotAuthorized(err):
		return false, fmt.Errorf("the token may not make the pool %[1]s: give it the privilege Pool.Allocate on /pool/%[1]s, or make the pool with `pveum pool add %[1]s`", name)
	default:
		return false, fmt.Errorf("the pool %[1]s cannot be made (%[2]w): make it with `pveum pool add %[1]s`, then run up again", name, err)
	}
}

// HasPool reports whether there is a resource pool of that name that the token sees.
func (c Connection) HasPool(ctx context.Context, name string) (bool, error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	pool, err := c.pool(ctx, client, name)
	return pool != nil, err
}

// PoolRelease says what became of a pool that is no longer needed.
type PoolRelease string

const (
	// PoolDeleted is gone.
	PoolDeleted PoolRelease = "deleted"
	// PoolGone was gone before.
	PoolGone PoolRelease = "gone before"
	// PoolForeign was not made by em-infra, so it stays.
	PoolForeign PoolRelease = "kept: em-infra did not make it"
	// PoolInUse has members still, so it stays.
	PoolInUse PoolRelease = "kept: it has members"
)

// ReleasePool deletes a resource pool that em-infra has made, unless something is left in it.
func (c Connection) ReleasePool(ctx context.Context, name string) (PoolRelease, error) {
	client, err := c.Client()
	if err != nil {
		return "", err
	}
	pool, err := c.pool(ctx, client, name)
	switch {
	case err != nil:
		return "", err
	case pool == nil:
		return PoolGone, nil
	case pool.Comment != poolMark:
		return PoolForeign, nil
	}
	err = pool.Delete(ctx)
	switch {
	case err == nil:
		return PoolDeleted, nil
	case isPoolInUse(err):
		return PoolInUse, nil // Proxmox VE looks at all members, the token may not
	default:
		return "", fmt.Errorf("the pool %[1]s cannot be deleted (%[2]w): delete it with `pveum pool delete %[1]s`, then run destroy again", name, err)
	}
}

// pool returns a pool without its members, nil when there is none that the token may look at.
func (c Connection) pool(ctx context.Context, client *proxmox.Client, name string) (*proxmox.Pool, error) {
	pools, err := client.Pools(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	if at := slices.IndexFunc(pools, func(pool *proxmox.Pool) bool { return pool.PoolID == name }); at >= 0 {
		return pools[at], nil
	}
	return nil, nil
}

// Proxmox VE says both with the status 500 and in words only (PVE/API2/Pool.pm).
func isPoolThere(err error) bool { return strings.Contains(err.Error(), "already exists") }
func isPoolInUse(err error) bool { return strings.Contains(err.Error(), "is not empty") }
