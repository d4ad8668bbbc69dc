package operator

import (
	"context"
	"errors"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/backup"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// Status reports machines, etcd, Kubernetes, certificates, the state, and orphans.
type Status struct{ StatusReport }

// Err returns [ErrNotWell] if something is wrong or could not be read.
func (s *Status) Err() error {
	if len(s.Lacks()) > 0 {
		return ErrNotWell
	}
	return nil
}

// Status returns the status from Proxmox VE, Talos and Kubernetes. It only reads.
func (o *Operator) Status(ctx context.Context) (*Status, error) {
	s, err := o.begin(ctx, needs{anyKind: true, hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	return s.anyStatus(ctx)
}

// anyStatus returns the status of a stack of any kind.
func (s *session) anyStatus(ctx context.Context) (*Status, error) {
	if s.layer != nil {
		return layerRun{s}.status(ctx)
	}
	return s.status(ctx)
}

// status asks all that know something about the stack.
func (s *session) status(ctx context.Context) (*Status, error) {
	sources, err := s.sources(ctx)
	if err != nil {
		return nil, err
	}
	copies, unread := s.copies(ctx)
	sources.Copies = copies
	report := sources.Report(ctx, s.clock.Now())
	credentials, noCredentials := s.listedCredentials(ctx, sources.Host, copies)
	for _, problem := range []error{unread, noCredentials} {
		if problem != nil {
			report.Unread = append(report.Unread, problem.Error())
		}
	}
	report = report.WithCredentials(credentials)
	return &Status{StatusReport: report.At(s.place)}, nil
}

// sources returns the sources of information about the stack's cluster.
func (s *session) sources(ctx context.Context) (status.Sources, error) {
	sources, err := s.stateSources(ctx)
	if err != nil {
		return sources, err
	}
	outputs, err := engine.Outputs(sources.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	sources.Inventory = s.inventory
	sources.Talosconfig, sources.Kubeconfig = secretOf(outputs, stacks.OutputTalosconfig), secretOf(outputs, stacks.OutputKubeconfig)
	sources.Images, err = wantedImages(s.inventory, s.factory)
	return sources, err
}

// stateSources returns the sources of information about the stack of any kind: its state and its host.
func (s *session) stateSources(ctx context.Context) (status.Sources, error) {
	host, err := pve.NewReader(s.host)
	if err != nil {
		return status.Sources{}, refused(err)
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return status.Sources{}, err
	}
	owner, err := state.OwnerOf(s.workspace.Stack, exported.Deployment)
	if err != nil {
		return status.Sources{}, err
	}
	last, err := lastUpdate(ctx, s.state)
	if err != nil {
		return status.Sources{}, err
	}
	locks, err := recovery.Locks(ctx, s.stateAt())
	if err != nil {
		return status.Sources{}, err
	}
	locks = slices.DeleteFunc(locks, recovery.Lock.IsOwn) // an up asks for the status at its end
	return status.Sources{Host: host, Owner: owner, Deployment: exported.Deployment, LastUpdate: last, Locks: locks}, nil
}

// copies returns the newest copies of the cluster on this machine. They are missed if the cluster is there and no rehearsal.
func (s *session) copies(ctx context.Context) (status.Copies, error) {
	snapshots, err := s.EtcdSnapshots()
	if err != nil {
		return status.Copies{}, err
	}
	kits, err := s.Kits()
	if err != nil {
		return status.Copies{}, err
	}
	fingerprint, err := s.inState().fingerprint(ctx)
	copies := status.Copies{Expected: fingerprint != "" && !s.workspace.Rehearsed}
	if len(snapshots) > 0 {
		copies.Snapshot = &status.Copy{Name: snapshots[0].Name, Taken: snapshots[0].Taken}
	}
	copies.Bucket, copies.State = s.bucketCopies(ctx, snapshots), s.stateBackups(ctx)
	if len(kits) > 0 {
		copies.Kit = &status.Copy{Name: kits[0].Name, Taken: kits[0].Made}
		copies.Outdated = fingerprint != "" && kits[0].Secrets != fingerprint
	}
	return copies, err
}

// bucketCopies returns the newest copies in the bucket of the inventory; nil if it names none.
func (s *session) bucketCopies(ctx context.Context, local []EtcdSnapshot) *status.BucketCopies {
	if s.inventory.Cluster.Backups.Bucket.IsZero() {
		return nil
	}
	copies := &status.BucketCopies{URL: s.inventory.Cluster.Backups.Bucket.Shown()}
	remote, err := s.snapshotBucket(ctx)
	if err != nil {
		copies.Problem = s.place.Complete(err.Error())
		s.scheduledCopies(copies, nil)
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
		copies.Problem = s.place.Complete(err.Error())
	case len(names) > 0:
		copies.Snapshot = copyOf(names[0])
	}
	s.scheduledCopies(copies, names)
	return copies
}

// stateBackups returns the backups of the state in the bucket with it; nil if it is in none.
func (s *session) stateBackups(ctx context.Context) *status.StateBackups {
	remote, err := s.backupBucket(ctx)
	if err == nil && remote == nil {
		return nil
	}
	backups := &status.StateBackups{URL: s.workspace.ShownBackend()}
	if err == nil {
		backups.Newest, backups.Missing, err = s.compareBackups(ctx, remote)
		err = errors.Join(err, remote.Objects.Close())
	}
	if err != nil {
		backups.Problem = s.place.Complete(err.Error())
	}
	return backups
}

func (s *session) compareBackups(ctx context.Context, remote *backup.Remote) (newest *status.Copy, missing int, err error) {
	local, err := s.Backups()
	if err != nil {
		return nil, 0, err
	}
	there, lacking, err := remote.Compare(ctx, local)
	if err == nil && len(there) > 0 {
		newest = &status.Copy{Name: there[0].Name, Taken: there[0].Taken}
	}
	return newest, len(lacking), err
}

// scheduledCopies notes what the cluster itself has stored in the bucket, and when the next one is due.
func (s *session) scheduledCopies(copies *status.BucketCopies, newestFirst []retention.Name) {
	since := s.clock.Now()
	if at := slices.IndexFunc(newestFirst, func(n retention.Name) bool { return n.Kind == etcdsnapshot.Scheduled }); at >= 0 {
		copies.Scheduled = copyOf(newestFirst[at])
		since = copies.Scheduled.Taken
	}
	if addon := s.inventory.Cluster.Addons.EtcdBackup; addon != nil {
		due := addon.Schedule.Next(since)
		copies.Due = &due
	}
}

func copyOf(name retention.Name) *status.Copy {
	return &status.Copy{Name: name.String(), Taken: name.Taken}
}

// secretOf returns an output of type string; empty if it does not exist yet.
func secretOf(outputs auto.OutputMap, name string) []byte {
	text, _ := outputs[name].Value.(string)
	return []byte(text)
}

// lastUpdate returns the newest entry of the stack's history; nil if there is none.
func lastUpdate(ctx context.Context, state *stackstate.State) (*status.Update, error) {
	last, err := state.LastUpdate(ctx)
	if err != nil || last == nil {
		return nil, err
	}
	return &status.Update{Kind: last.Kind, Result: last.Result, Ended: last.Ended}, nil
}
