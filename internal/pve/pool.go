package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// poolMark is the comment of the pools that em-infra has created. Pools with another comment are not em-infra's.
const poolMark = "Made by em-infra, deleted with the last machine in it."

// EnsurePool creates a resource pool unless one of that name exists, and reports whether it has.
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
		return false, nil // it was created in the meantime, or the token may not see it
	case proxmox.IsNotAuthorized(err):
		return false, fmt.Errorf("the token may not make the pool %[1]s: give it the privilege Pool.Allocate on /pool/%[1]s, or make the pool with `pveum pool add %[1]s`", name)
	default:
		return false, fmt.Errorf("the pool %[1]s cannot be made (%[2]w): make it with `pveum pool add %[1]s`, then run up again", name, err)
	}
}

// HasPool reports whether a resource pool of that name exists that the token may see.
func (c Connection) HasPool(ctx context.Context, name string) (bool, error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	pool, err := c.pool(ctx, client, name)
	return pool != nil, err
}

// PoolRelease is the result of the release of a pool.
type PoolRelease string

const (
	// PoolDeleted means that it was deleted.
	PoolDeleted PoolRelease = "deleted"
	// PoolGone means that it did not exist.
	PoolGone PoolRelease = "gone before"
	// PoolForeign means that it was not created by em-infra, so it stays.
	PoolForeign PoolRelease = "kept: em-infra did not make it"
	// PoolInUse means that it has members, so it stays.
	PoolInUse PoolRelease = "kept: it has members"
)

// ReleasePool deletes a resource pool that em-infra has created, unless it has members.
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
		return PoolInUse, nil // Proxmox VE counts all members, also those that the token may not see
	default:
		return "", fmt.Errorf("the pool %[1]s cannot be deleted (%[2]w): delete it with `pveum pool delete %[1]s`, then run destroy again", name, err)
	}
}

// pool returns a pool without its members; nil if there is none that the token may see.
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

// Proxmox VE reports both with the status 500; only the text differs (PVE/API2/Pool.pm).
func isPoolThere(err error) bool { return strings.Contains(err.Error(), "already exists") }
func isPoolInUse(err error) bool { return strings.Contains(err.Error(), "is not empty") }
