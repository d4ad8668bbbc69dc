package etcdrestore

import (
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/versions"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// Choice is the snapshot that etcd is to be restored from, and the cluster.
type Choice struct {
	Snapshot etcdsnapshot.Snapshot
	Opened   *etcdsnapshot.Opened
	Cluster  inventory.Cluster
}

// Fits refuses a snapshot of another cluster or of other versions. key is the one that seals its Secrets; empty if the state has none.
func (c Choice) Fits(key []byte) error {
	snapshot, cluster := c.Snapshot, c.Cluster
	if len(key) > 0 {
		encryption, err := c.Opened.Encryption(key)
		if err != nil {
			return refusal.Of(err)
		}
		if encryption.Foreign() {
			return refusal.Of(fmt.Errorf("the snapshot %s is of another cluster: the key in the state opens none of its Secrets; choose another one that `em-infra etcd list` shows with --from, or restore the state that belongs to it with `em-infra state restore`",
				snapshot.Name))
		}
	}
	if snapshot.Cluster.Name != "" && snapshot.Cluster.Name != cluster.Name {
		return refusal.Of(fmt.Errorf("the snapshot %s is of the cluster %s, and this is %s: choose another one that `em-infra etcd list` shows with --from",
			snapshot.Name, snapshot.Cluster.Name, cluster.Name))
	}
	return errors.Join(
		sameMinor(snapshot.Name, "Kubernetes", "kubernetes.version", snapshot.Kubernetes, cluster.Kubernetes.Version.String()),
		sameMinor(snapshot.Name, "Talos", "talos.version", snapshot.Talos, cluster.Talos.Version.String()),
	)
}

// SealedByPresentKey refuses a snapshot whose Secrets are sealed with a key that the cluster no longer has since `em-infra rotate encryption-key`:
// its API servers could not read them.
func (c Choice) SealedByPresentKey() error {
	former, err := c.Opened.SecretsSealed(etcdsnapshot.SealedByAESCBC)
	if err != nil {
		return refusal.Of(err)
	}
	if len(former) > 0 {
		return refusal.Of(fmt.Errorf("the snapshot %s is from before `em-infra rotate encryption-key`: its Secrets (%d) are sealed with the former key, which the cluster has no more; choose a later one that `em-infra etcd list` shows with --from, or first restore the state that was backed up before the rotation with `em-infra state restore`",
			c.Snapshot.Name, len(former)))
	}
	return nil
}

// sameMinor refuses a snapshot of another minor release than that of the inventory. One without a version is accepted: its description
// is missing, or the image has no version as its tag.
func sameMinor(snapshot, of, key, taken, wanted string) error {
	was, is := parsed(taken), parsed(wanted)
	if was.IsZero() || is.IsZero() || was.Minor() == is.Minor() {
		return nil
	}
	return refusal.Of(fmt.Errorf("the snapshot %s is of %s %s, and the inventory says %s, which is another minor release: set %s to %s, restore, then upgrade",
		snapshot, of, was, is, key, was))
}

// parsed returns a version; zero if the text is none, as for a custom build.
func parsed(text string) versions.Version {
	version, err := versions.Parse(text)
	if err != nil {
		return versions.Version{}
	}
	return version
}

// CheckOnly refuses to replace the only control plane without a snapshot of this run, unless an earlier run, whose restore starts on
// begunOn, has taken one: then the run goes on from there. failed is why none was taken.
func CheckOnly(name string, isTaken bool, begunOn string, failed error) (goesOn bool, err error) {
	switch {
	case !isTaken && begunOn == name:
		return true, nil
	case failed != nil:
		return false, refusal.Of(fmt.Errorf("%s is the only control plane, and is not replaced without a snapshot of etcd: %w", name, failed))
	case !isTaken:
		return false, refusal.Of(fmt.Errorf("%s is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore`", name))
	default:
		return false, nil
	}
}
