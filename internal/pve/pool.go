package pve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// PoolOwnerVariable is the environment variable of `em-infra pool` with the name of the hosts.yaml that a pool belongs to.
const PoolOwnerVariable = "EM_INFRA_POOL_OWNER"

// poolMark is the comment of the pools that em-infra has created for machines, which may be those of several stacks. em-infra
// does not delete pools with another comment.
const poolMark = "Made by em-infra, deleted with the last machine in it."

// markOfPool returns the comment of a pool that was created for a stack, which keeps it without machines, or for machines.
func markOfPool(owner string) string {
	if owner == "" {
		return poolMark
	}
	return "Made by em-infra for " + owner + "."
}

// EnsurePool creates a resource pool unless one of that name exists, and reports whether it created one. With an owner, the pool belongs to that
// stack, even if it was created for machines before.
func (c Connection) EnsurePool(ctx context.Context, name, owner string) (made bool, err error) {
	client, err := c.Client()
	if err != nil {
		return false, err
	}
	pool, err := c.pool(ctx, client, name)
	if err != nil {
		return false, err
	}
	if pool != nil {
		return false, c.takePool(ctx, client, pool, owner)
	}
	err = client.NewPool(ctx, name, markOfPool(owner))
	switch {
	case err == nil:
		return true, nil
	case isPoolThere(err):
		return false, nil // it was created in the meantime, or the token may not see it
	case isParentMissing(err) && len(PoolParents(name)) > 0:
		return false, fmt.Errorf("the pool %[1]s cannot be made, since its parent %[2]s is not there: add %[2]s to pools of hosts.yaml, or make it with `pveum pool add %[2]s`, then run up again", name, PoolParents(name)[0])
	case proxmox.IsNotAuthorized(err):
		return false, fmt.Errorf("the token may not make the pool %[1]s: give it the privilege Pool.Allocate on /pool/%[1]s, or make the pool with `pveum pool add %[1]s`", name)
	default:
		return false, fmt.Errorf("the pool %[1]s cannot be made (%[2]w): make it with `pveum pool add %[1]s`, then run up again", name, err)
	}
}

// takePool gives a pool that was created for machines to its owner, so that it stays when they have gone.
func (c Connection) takePool(ctx context.Context, client *proxmox.Client, pool *proxmox.Pool, owner string) error {
	if owner == "" || pool.Comment != poolMark {
		return nil
	}
	err := client.Put(ctx, "/pools", map[string]string{"poolid": pool.PoolID, "comment": markOfPool(owner)}, nil)
	if err != nil {
		return fmt.Errorf("the pool %[1]s was made for machines and cannot be made one of %[2]s (%[3]w): give the token the privilege Pool.Allocate on /pool/%[1]s, then run up again", pool.PoolID, owner, err)
	}
	return nil
}

// PoolParents returns the pools that a pool is nested in, the nearest first.
func PoolParents(name string) (parents []string) {
	for at := strings.LastIndex(name, "/"); at >= 0; at = strings.LastIndex(name, "/") {
		name = name[:at]
		parents = append(parents, name)
	}
	return parents
}

// PoolNames returns the names of the resource pools that the token may see.
func (c Connection) PoolNames(ctx context.Context) ([]string, error) {
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	pools, err := client.Pools(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	names := make([]string, len(pools))
	for i, pool := range pools {
		names[i] = pool.PoolID
	}
	return names, nil
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
	// PoolForeign means that it was not created for this stack, so it stays.
	PoolForeign PoolRelease = "kept: this stack did not make it"
	// PoolInUse means that it has members, so it stays.
	PoolInUse PoolRelease = "kept: it has members"
)

// ReleasePool deletes a resource pool that em-infra has created for its owner, or for machines without one, unless it has members.
func (c Connection) ReleasePool(ctx context.Context, name, owner string) (PoolRelease, error) {
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
	case pool.Comment != markOfPool(owner):
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

// Proxmox VE reports all with the status 500; only the text differs (PVE/API2/Pool.pm).
func isPoolThere(err error) bool { return strings.Contains(err.Error(), "already exists") }
func isParentMissing(err error) bool {
	return strings.Contains(err.Error(), "parent '") && strings.Contains(err.Error(), "does not exist")
}
func isPoolInUse(err error) bool { return strings.Contains(err.Error(), "is not empty") }
