package components

import (
	"context"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// SnapshotsBefore returns what each change of a node in one run calls before.
func SnapshotsBefore(keep SnapshotKeeper) func(context.Context, rolling.Node, nodeops.Health, nodeops.SnapshotWait) error {
	return (&etcdSnapshot{keep: keep}).before
}
