package kubernetesupgrade

import (
	"context"
	"errors"

	"github.com/em-infra/em-infra/internal/versions"
)

// RemovedObjects returns what the check of objects finds in the way of an upgrade from a version. The API server of the lab is older
// than the versions between which APIs end that it serves.
func (u Upgrade) RemovedObjects(ctx context.Context, from versions.Version) error {
	problems, err := u.removedObjects(ctx, from)
	return errors.Join(append(problems, err)...)
}
