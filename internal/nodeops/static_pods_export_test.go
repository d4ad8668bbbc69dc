package nodeops

import (
	"context"

	"github.com/cosi-project/runtime/pkg/state"
)

// ReadStaticPods reads what the static pods of a node should have.
func ReadStaticPods(ctx context.Context, resources state.State) error {
	_, err := readStaticPodVersions(ctx, resources)
	return err
}
