package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/page"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// keptCopies are the copies of a stack: snapshots of etcd, backups of the state, and recovery kits.
type keptCopies struct {
	*Operator

	cluster clusterInState
}

func (s *session) keptCopies() keptCopies {
	return keptCopies{Operator: s.Operator, cluster: s.inState()}
}

// status returns the newest copies of the cluster, on this machine and in its buckets. They are expected if there is a cluster and it is not that of a rehearsal.
func (c keptCopies) status(ctx context.Context) (status.Copies, error) {
	snapshots, err := c.EtcdSnapshots()
	if err != nil {
		return status.Copies{}, err
	}
	kits, err := c.Kits()
	if err != nil {
		return status.Copies{}, err
	}
	fingerprint, err := c.cluster.fingerprint(ctx)
	copies := status.Copies{Expected: fingerprint != "" && !c.workspace.Rehearsed}
	if len(snapshots) > 0 {
		copies.Snapshot = &status.Copy{Name: snapshots[0].Name, Taken: snapshots[0].Taken}
	}
	copies.Bucket, copies.State = c.inBucket(ctx, snapshots), c.ofState(ctx)
	if len(kits) > 0 {
		copies.Kit = &status.Copy{Name: kits[0].Name, Taken: kits[0].Made}
		copies.Outdated = fingerprint != "" && kits[0].Secrets != fingerprint
	}
	return copies, err
}

// inBucket returns the newest copies in the bucket of the inventory; nil if it names none.
func (c keptCopies) inBucket(ctx context.Context, local []EtcdSnapshot) *status.BucketCopies {
	if c.cluster.inventory.Cluster.Backups.Bucket.IsZero() {
		return nil
	}
	copies := &status.BucketCopies{URL: c.cluster.inventory.Cluster.Backups.Bucket.Shown()}
	remote, err := c.snapshotBucket(ctx)
	if err != nil {
		copies.Problem = c.cluster.place.Complete(err.Error())
		c.noteScheduled(copies, nil)
		return copies
	}
	names, err := remote.Names(ctx)
	var missing []EtcdSnapshot
	if err == nil {
		missing, err = remote.Missing(ctx, local)
	}
	err = errors.Join(err, remote.Objects.Close())
	copies.Missing = len(missing)
	switch {
	case err != nil:
		copies.Problem = c.cluster.place.Complete(err.Error())
	case len(names) > 0:
		copies.Snapshot = copyOf(names[0])
	}
	c.noteScheduled(copies, names)
	return copies
}

// noteScheduled notes what the cluster itself has stored in the bucket, and when the next one is due.
func (c keptCopies) noteScheduled(copies *status.BucketCopies, newestFirst []retention.Name) {
	since := c.clock.Now()
	if at := slices.IndexFunc(newestFirst, func(n retention.Name) bool { return n.Kind == etcdsnapshot.Scheduled }); at >= 0 {
		copies.Scheduled = copyOf(newestFirst[at])
		since = copies.Scheduled.Taken
	}
	if addon := c.cluster.inventory.Cluster.Addons.EtcdBackup; addon != nil {
		due := addon.Schedule.Next(since)
		copies.Due = &due
	}
}

// ofState returns the backups of the state in the bucket with it; nil if it is in none.
func (c keptCopies) ofState(ctx context.Context) *status.StateBackups {
	remote, err := c.backupBucket(ctx)
	if err == nil && remote == nil {
		return nil
	}
	backups := &status.StateBackups{URL: c.workspace.ShownBackend()}
	if err == nil {
		backups.Newest, backups.Missing, err = c.compareBackups(ctx, remote)
		err = errors.Join(err, remote.Objects.Close())
	}
	if err != nil {
		backups.Problem = c.cluster.place.Complete(err.Error())
	}
	return backups
}

func (c keptCopies) compareBackups(ctx context.Context, remote *backup.Remote) (newest *status.Copy, missing int, err error) {
	local, err := c.Backups()
	if err != nil {
		return nil, 0, err
	}
	there, lacking, err := remote.Compare(ctx, local)
	if err == nil && len(there) > 0 {
		newest = &status.Copy{Name: there[0].Name, Taken: there[0].Taken}
	}
	return newest, len(lacking), err
}

func copyOf(name retention.Name) *status.Copy {
	return &status.Copy{Name: name.String(), Taken: name.Taken}
}

// mostCopies is how many copies of each kind a report lists.
const mostCopies = 5

// newest returns the newest copies of each kind, at most mostCopies: of etcd, of the state, and recovery kits.
func (c keptCopies) newest(ctx context.Context) ([]page.Copy, error) {
	var snapshots []EtcdCopy
	if c.cluster.inventory != nil { // a layer has no etcd
		var err error
		if snapshots, _, err = c.etcdCopies(ctx); err != nil { // the status has the reason why the bucket cannot be listed
			return nil, err
		}
	}
	backups, err := c.Backups()
	if err != nil {
		return nil, err
	}
	kits, err := c.Kits()
	if err != nil {
		return nil, err
	}
	var copies []page.Copy
	for _, one := range snapshots[:min(len(snapshots), mostCopies)] {
		copies = append(copies, page.Copy{Kind: "etcd", Name: one.Name, Taken: one.Taken, Place: placeOf(one)})
	}
	for _, one := range backups[:min(len(backups), mostCopies)] {
		copies = append(copies, page.Copy{Kind: "state", Name: one.Name, Taken: one.Taken, Place: "this machine"})
	}
	for _, one := range kits[:min(len(kits), mostCopies)] {
		copies = append(copies, page.Copy{Kind: "recovery kit", Name: one.Name, Taken: one.Made, Place: "this machine"})
	}
	return copies, nil
}

func placeOf(one EtcdCopy) string {
	switch {
	case one.Local && one.Bucket:
		return "this machine and the bucket"
	case one.Bucket:
		return "the bucket"
	default:
		return "this machine"
	}
}
