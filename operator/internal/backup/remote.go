package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/retention"
)

// Remote are the copies of a stack's backups in the bucket with its state, each as it is in the store.
type Remote struct {
	// Objects is the folder of the bucket. Required.
	Objects *bucket.Bucket
	// Keep is the number of backups of each reason that stay there, as that of the store.
	Keep int
}

// Folder returns the folder of a stack's backups below the URL of its state, beside the one in which the engine keeps everything.
func Folder(project, stack string) string { return path.Join(".em-infra", "backups", project, stack) }

// List returns the backups in the bucket, newest first. Other objects are left out.
func (r Remote) List(ctx context.Context) ([]Backup, error) {
	objects, err := r.Objects.List(ctx)
	if err != nil {
		return nil, err
	}
	sizes := map[retention.Name]int64{}
	var names []retention.Name
	for _, object := range objects {
		text, isBackup := strings.CutSuffix(object.Key, ending)
		if name, err := retention.Parse(text); isBackup && err == nil {
			names = append(names, name)
			sizes[name] = object.Bytes
		}
	}
	slices.SortFunc(names, retention.NewestFirst)
	var backups []Backup
	for _, name := range names {
		backups = append(backups, Backup{Name: name.String(), Taken: name.Taken, Reason: name.Kind, Bytes: sizes[name]})
	}
	return backups, nil
}

// Compare returns the backups in the bucket, and the local ones that it lacks and that the rule would keep there, both newest first.
func (r Remote) Compare(ctx context.Context, local []Backup) (there, missing []Backup, err error) {
	if there, err = r.List(ctx); err != nil {
		return nil, nil, err
	}
	missing, _ = r.compare(there, local, nil)
	return there, missing, nil
}

// Send copies what is missing of the local backups into the bucket, and deletes there what the rule does not keep. The backups named in spared were
// just made: they are copied and kept no matter what their times are. It returns the names of what it has copied, with an error as well: the next
// call goes on from there.
func (r Remote) Send(ctx context.Context, local []Backup, spared ...string) (sent []string, err error) {
	there, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	missing, excess := r.compare(there, local, spared)
	for _, one := range missing {
		err := r.put(ctx, one)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the rule has deleted it here meanwhile
		}
		if err != nil {
			return sent, err
		}
		sent = append(sent, one.Name)
	}
	for _, one := range excess {
		if err := r.Objects.Delete(ctx, one.Name+ending); err != nil && !errors.Is(err, object.ErrNotFound) {
			return sent, err
		}
	}
	return sent, nil
}

// compare returns the local backups that are to be sent, and those in the bucket that are to be deleted then, both newest first.
func (r Remote) compare(there, local []Backup, spared []string) (missing, excess []Backup) {
	all := slices.Clone(there)
	for _, one := range local {
		if !slices.ContainsFunc(there, one.isSameAs) {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, newestFirst)
	goes := retention.Excess(all, func(b Backup) string { return b.Reason }, r.Keep)
	for _, one := range all {
		switch tooOld := slices.Contains(goes, one) && !slices.Contains(spared, one.Name); {
		case one.Path != "" && !tooOld:
			missing = append(missing, one)
		case one.Path == "" && tooOld:
			excess = append(excess, one)
		}
	}
	return missing, excess
}

// isSameAs reports whether a backup in the bucket is a copy of a local one, whose name may be from before the passphrase was changed on
// another machine.
func (b Backup) isSameAs(there Backup) bool {
	return b.Name == there.Name ||
		there.NeedsFormerPassphrase() && b.Taken.Equal(there.Taken) && b.Reason == strings.TrimSuffix(there.Reason, FormerPassphrase)
}

func (r Remote) put(ctx context.Context, one Backup) error {
	file, err := os.Open(one.Path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	return r.Objects.Upload(ctx, one.Name+ending, file)
}

// Fetch copies a backup from the bucket into a store. An incomplete copy gets no name there.
func (r Remote) Fetch(ctx context.Context, one Backup, into Store) (Backup, error) {
	name, err := retention.Parse(one.Name)
	if err != nil {
		return Backup{}, err
	}
	if err := os.MkdirAll(into.Dir, 0o700); err != nil {
		return Backup{}, fmt.Errorf("folder of the backups: %w", err)
	}
	file, err := os.CreateTemp(into.Dir, "new-*")
	if err != nil {
		return Backup{}, fmt.Errorf("write a backup: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it has its own name by then
	err = r.Objects.Download(ctx, one.Name+ending, file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Backup{}, err
	}
	if err := os.Rename(file.Name(), filepath.Clean(into.path(name))); err != nil {
		return Backup{}, fmt.Errorf("write a backup: %w", err)
	}
	return into.read(name)
}

// MarkFormer does in the bucket what [Store.MarkFormer] does in the store.
func (r Remote) MarkFormer(ctx context.Context, opens func(text []byte) (bool, error)) (unread []error, err error) {
	all, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.NeedsFormerPassphrase() {
			continue
		}
		var text bytes.Buffer
		if err := r.Objects.Download(ctx, one.Name+ending, &text); err != nil {
			return unread, err
		}
		isNew, err := opensFormat(opens, text.Bytes())
		if err != nil {
			unread = append(unread, fmt.Errorf("%s in %s: %w", one.Name, r.Objects, err))
			continue
		}
		if isNew {
			continue
		}
		if err := r.rename(ctx, one, text.Bytes()); err != nil {
			return unread, err
		}
	}
	return unread, nil
}

// rename stores the backup under its new name before it deletes the old one. One that a run has stored before it was killed is replaced.
func (r Remote) rename(ctx context.Context, one Backup, text []byte) error {
	name, err := retention.Parse(one.Name)
	if err != nil {
		return err
	}
	name.Kind += FormerPassphrase
	if err := r.Objects.Upload(ctx, name.String()+ending, bytes.NewReader(text)); err != nil {
		return err
	}
	return r.Objects.Delete(ctx, one.Name+ending)
}
