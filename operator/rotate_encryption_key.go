package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/operator/internal/apisecrets"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/rotation"
)

// EncryptionKeyRotation are the steps of [Operator.RotateEncryptionKey], in their order.
var EncryptionKeyRotation = encryptionKeyRotation.list()

// EncryptionKeyCost is what [Operator.RotateEncryptionKey] costs the cluster.
const EncryptionKeyCost = "on control planes the API server, the controller manager and the scheduler restart twice, one control plane after the other; " +
	"Talos seals with the new key as soon as an API server has it, so until the last one has it too, the others cannot read what it has written; " +
	"snapshots of etcd from before cannot be restored any more, except together with the state from before"

var encryptionKeyRotation = secretsRotation{
	what: "encryption-key", purpose: "replace the key with which its Secrets are sealed", renew: newEncryptionKey, cost: EncryptionKeyCost,
	check: hasKeyOfAESCBC,
	steps: []rotationStep{
		{text: "each control plane gets a key of secretbox beside that of aescbc, one after the other, and each reads what the others write", run: addSecretbox},
		{text: "all Secrets are written anew, and a snapshot of etcd shows that the key of aescbc seals none", run: sealAnew},
		{text: "the key of aescbc leaves each control plane, one after the other, and the state", run: dropAESCBC, write: rotation.Replacements.SecretboxIn},
	},
}

// RotateEncryptionKey replaces the key with which the Secrets in etcd are sealed, after consent, where Talos can: from aescbc to secretbox.
// After a kill at any point it goes on with the same new key; until then other operations are refused.
func (o *Operator) RotateEncryptionKey(ctx context.Context, options RotationOptions) error {
	return o.rotateSecrets(ctx, encryptionKeyRotation, options)
}

// hasKeyOfAESCBC refuses a cluster that does not seal with aescbc: Talos has no way from its key to another one.
func hasKeyOfAESCBC(exported *engine.Exported) error {
	bundle, err := secretsOf(exported)
	if err != nil {
		return err
	}
	if !bundle.SealsWithAESCBC() {
		return refused(fmt.Errorf("%w: keep the key, and see docs/security.md for what to do if it leaked", machinesecrets.ErrNoSecondKey))
	}
	return nil
}

// newEncryptionKey makes the new key.
func newEncryptionKey(exported *engine.Exported, now time.Time) (rotation.Replacements, error) {
	bundle, err := secretsOf(exported)
	if err != nil {
		return nil, err
	}
	key, err := bundle.RenewEncryptionKey(now)
	return rotation.Replacements{{Old: key.Old, New: key.New}}, err
}

// addSecretbox gives the control planes both keys. An API server seals with secretbox as soon as it has a key of it.
func addSecretbox(ctx context.Context, r *secretsRun) error {
	key := r.note.Replacements[0].New
	if err := r.roll(ctx, r.only(true), func(c *v1alpha1.Config) { c.ClusterConfig.ClusterSecretboxEncryptionSecret = key }); err != nil {
		return err
	}
	return r.readEverywhere(ctx)
}

// readEverywhere waits until each API server reads the Secrets that each of them writes.
func (r *secretsRun) readEverywhere(ctx context.Context) error {
	servers, err := r.apiServers(ctx)
	if err != nil {
		return err
	}
	return r.within(ctx, func(ctx context.Context) error {
		return awaited(ctx, func(ctx context.Context) error { return apisecrets.ReadEverywhere(ctx, servers) })
	})
}

// errStillSealed means that the former key must not be removed yet.
var errStillSealed = errors.New("the former key still seals Secrets")

// sealAnew writes all Secrets anew, and checks in a snapshot of etcd that the former key seals none of them.
func sealAnew(ctx context.Context, r *secretsRun) error {
	api, err := r.apiServer(ctx)
	if err != nil {
		return err
	}
	count, err := apisecrets.Rewrite(ctx, api)
	if err != nil {
		return err
	}
	left, err := r.sealedByAESCBC(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%w: %d, the first is %s", errStillSealed, len(left), left[0])
	}
	r.emit(Progress{Part: "rotate", What: fmt.Sprintf("Secrets written anew: %d; none is sealed with the former key", count)})
	return nil
}

// sealedByAESCBC returns the Secrets in etcd that the former key seals.
func (r *secretsRun) sealedByAESCBC(ctx context.Context) ([]string, error) {
	health, err := r.access(ctx)
	if err != nil {
		return nil, err
	}
	snapshot, err := health.EtcdSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snapshot == nil {
		return nil, errors.New("etcd runs on no control plane")
	}
	opened, err := r.snapshots().Look(snapshot.Take)
	if err != nil {
		return nil, err
	}
	names, err := opened.SecretsSealed(etcdsnapshot.SealedByAESCBC)
	return names, errors.Join(err, opened.Close())
}

// dropAESCBC takes the former key from the control planes.
func dropAESCBC(ctx context.Context, r *secretsRun) error {
	key := r.note.Replacements[0].New
	if err := r.roll(ctx, r.only(true), func(c *v1alpha1.Config) {
		c.ClusterConfig.ClusterSecretboxEncryptionSecret, c.ClusterConfig.ClusterAESCBCEncryptionSecret = key, ""
	}); err != nil {
		return err
	}
	return r.readEverywhere(ctx)
}
