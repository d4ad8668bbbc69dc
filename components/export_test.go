package components

import (
	"context"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// SnapshotsBefore returns the function that every change of a node in one run calls first.
func SnapshotsBefore(keep SnapshotKeeper) func(context.Context, rolling.Node, nodeops.Health, nodeops.SnapshotWait) error {
	return (&etcdSnapshot{keep: keep}).before
}
