package kubernetesupgrade

import (
	"context"
	"errors"

	"github.com/em-infra/em-infra/internal/versions"
)

// RemovedObjects returns the problems that the check of objects finds for an upgrade from the given version. The API server of the lab is older than
// the versions that remove the APIs that it serves.
func (u Upgrade) RemovedObjects(ctx context.Context, from versions.Version) error {
	problems, err := u.removedObjects(ctx, from)
	return errors.Join(append(problems, err)...)
}
