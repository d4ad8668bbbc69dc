package preflight

import (
	"context"
	"slices"

	"github.com/em-infra/em-infra/internal/pve"
)

// pools checks that each nested pool has its parent once the inventory is applied: Proxmox VE makes none without (pve-manager,
// PVE/API2/Pool.pm).
func (s *collector) pools(ctx context.Context, subject HostsSubject) {
	var wanted, nested []string
	for _, pool := range subject.Inventory.File.Pools {
		wanted = append(wanted, pool.Name)
		if len(pve.PoolParents(pool.Name)) > 0 {
			nested = append(nested, pool.Name)
		}
	}
	if len(nested) == 0 {
		return
	}
	present, err := subject.Host.PoolNames(ctx)
	if err != nil {
		s.unread("pool", "the pools", err)
		return
	}
	for _, pool := range nested {
		parent := pve.PoolParents(pool)[0]
		if slices.Contains(present, pool) || slices.Contains(wanted, parent) || slices.Contains(present, parent) {
			s.ok("pool", "the pool %s is there, or can be made", pool)
			continue
		}
		s.fail("pool", "add "+parent+" to pools; if it is there, give the token Pool.Audit on /pool/"+parent,
			"the pool %s cannot be made, since its parent %s is not there", pool, parent)
	}
}
