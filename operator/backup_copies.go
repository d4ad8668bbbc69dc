package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// BackupCopies returns the backups of the stack's state, newest first, on this machine and in the bucket with the state. It emits a note if
// the bucket does not say what it has; those on this machine are returned then.
func (o *Operator) BackupCopies(ctx context.Context) ([]BackupCopy, error) {
	copies, unlisted, err := o.backupCopies(ctx)
	if unlisted != nil {
		o.emit(Note{Text: fmt.Sprintf("warning: backups in the bucket are not listed, because %s", unlisted)})
	}
	return copies, err
}

// backupCopies returns the backups, and why the bucket's are not among them.
func (o *Operator) backupCopies(ctx context.Context) (copies []BackupCopy, unlisted, err error) {
	local, err := o.Backups()
	if err != nil {
		return nil, nil, err
	}
	remote, unlisted := o.backupsInBucket(ctx)
	return backup.Merge(local, remote), unlisted, nil
}

// backupsInBucket returns the backups in the bucket with the state, newest first; none if the state is in no bucket.
func (o *Operator) backupsInBucket(ctx context.Context) ([]Backup, error) {
	remote, err := o.backupBucket(ctx)
	if err != nil || remote == nil {
		return nil, err
	}
	found, err := remote.List(ctx)
	return found, errors.Join(err, remote.Objects.Close())
}

// backupBucket opens the copies of the backups in the bucket with the state; nil if it is in no bucket of S3. The caller closes it.
func (o *Operator) backupBucket(ctx context.Context) (*backup.Remote, error) {
	return o.backupBucketAt(ctx, o.workspace.Backend)
}

func (o *Operator) backupBucketAt(ctx context.Context, backend string) (*backup.Remote, error) {
	if !address.IsS3(backend) {
		return nil, nil
	}
	objects, err := bucket.Open(ctx, backend, backup.Folder(workspace.Project, o.workspace.Stack), bucket.Limits{})
	if err != nil {
		return nil, err
	}
	return &backup.Remote{Objects: objects, Keep: o.options.Keep}, nil
}

// findBackup returns the backup with that name; "" means the newest one, except for those that a restore made of the state that it replaced.
// A backup that is not on this machine is copied from the bucket. It returns [backup.ErrNone] if there is none at all.
func (o *Operator) findBackup(ctx context.Context, name string) (Backup, error) {
	if name != "" {
		if local, err := o.backups().Find(name); err == nil {
			return local, nil // the bucket is not needed
		}
	}
	copies, unlisted, err := o.backupCopies(ctx)
	if err != nil {
		return Backup{}, err
	}
	at := slices.IndexFunc(copies, func(c BackupCopy) bool { return name == "" && !c.IsReplaced() || c.Name == name })
	switch {
	case at < 0 && unlisted != nil:
		return Backup{}, fmt.Errorf("there is no such backup in %s, and the bucket cannot be listed, because %w", workspace.Nearby(o.workspace.Backups), unlisted)
	case at < 0 && len(copies) == 0:
		return Backup{}, backup.ErrNone
	case at < 0 && name == "":
		return Backup{}, errors.New("all backups are of states that a restore has replaced: give --from the name of one that `em-infra state list` shows")
	case at < 0:
		return Backup{}, backup.Unknown(name)
	case unlisted != nil:
		o.emit(Note{Text: fmt.Sprintf("warning: %s is the newest backup here, and a newer one in the bucket would not be seen, because %s", copies[at].Name, unlisted)})
	}
	if copies[at].Local {
		return copies[at].Backup, nil
	}
	return o.fetchBackup(ctx, copies[at].Backup)
}

// fetchBackup copies a backup from the bucket to this machine.
func (o *Operator) fetchBackup(ctx context.Context, one Backup) (Backup, error) {
	remote, err := o.backupBucket(ctx)
	if err != nil {
		return Backup{}, err
	}
	fetched, err := remote.Fetch(ctx, one, o.backups())
	if err := errors.Join(err, remote.Objects.Close()); err != nil {
		return Backup{}, fmt.Errorf("the backup %s: %w", one.Name, err)
	}
	o.emit(Note{Text: fmt.Sprintf("the backup %s is copied from %s", one.Name, remote.Objects)})
	return fetched, nil
}

// tellBackup reports a backup, and why it is on this machine alone if it should not be.
func (o *Operator) tellBackup(kept KeptBackup) {
	o.emit(BackedUp{Backup: kept.Backup, Bucket: kept.Bucket})
	if kept.NotInBucket != nil {
		o.tellUnsent(kept.NotInBucket)
	}
}

func (o *Operator) tellUnsent(reason error) {
	o.emit(Note{Text: o.remedies().Complete(fmt.Sprintf("warning: backups of the state may be on this machine alone, because %s; the next `em-infra up` or `em-infra state backup` copies them", reason))})
}
