package etcdsnapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/retention"
)

// Remote are the copies of the snapshots of a stack in a bucket: each sealed as it is in the store, with its description beside it.
type Remote struct {
	// Objects is the folder of the bucket. Required.
	Objects *bucket.Bucket
	// Cluster is the name of the cluster. Required: snapshots of another one are not deleted.
	Cluster string
	// Keep is the rule by which snapshots stay, as that of the store.
	Keep retention.Rule
}

// Put stores a copy of a snapshot, and deletes those that the rule does not keep. Nothing that is there is replaced.
func (r Remote) Put(ctx context.Context, snapshot Snapshot) error {
	names, err := r.Names(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(names, func(n retention.Name) bool { return n.String() == snapshot.Name }) {
		return fmt.Errorf("the bucket %s has another snapshot %s: take a new one", r.Objects, snapshot.Name)
	}
	sealed, err := os.Open(snapshot.Path)
	if err != nil {
		return err
	}
	defer sealed.Close() //nolint:errcheck // only read
	description, err := describe(snapshot)
	if err != nil {
		return err
	}
	// The description is first: a snapshot that is there has one, so a run that is killed leaves none that is never deleted.
	if err := r.Objects.Write(ctx, snapshot.Name+descriptionEnding, description); err != nil {
		return err
	}
	if err := r.Objects.Upload(ctx, snapshot.Name+sealedEnding, sealed); err != nil {
		return err
	}
	_, err = r.Prune(ctx)
	return err
}

// List returns the snapshots in the bucket, newest first. Other objects are left out. A snapshot without a description has its name and
// time alone.
func (r Remote) List(ctx context.Context) ([]Snapshot, error) {
	names, err := r.Names(ctx)
	if err != nil {
		return nil, err
	}
	var all []Snapshot
	for _, name := range names {
		snapshot, err := r.read(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, snapshot)
	}
	return all, nil
}

// Fetch copies a snapshot from the bucket into the store. A copy that was cut off has no name there.
func (r Remote) Fetch(ctx context.Context, snapshot Snapshot, into Store) (_ Snapshot, err error) {
	if err := os.MkdirAll(into.Dir, 0o700); err != nil {
		return Snapshot{}, fmt.Errorf("folder of the snapshots: %w", err)
	}
	file, err := os.CreateTemp(into.Dir, "new-*")
	if err != nil {
		return Snapshot{}, fmt.Errorf("write a snapshot: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it has its own name by then
	err = r.Objects.Download(ctx, snapshot.Name+sealedEnding, file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Snapshot{}, err
	}
	return into.adopt(file.Name(), snapshot)
}

// Prune deletes the snapshots of this cluster that the rule does not keep, with their descriptions, and returns their names, newest
// first. What has no description is not this tool's, and stays.
func (r Remote) Prune(ctx context.Context) (deleted []string, err error) {
	all, err := r.List(ctx)
	if err != nil {
		return nil, err
	}
	var ours []retention.Name
	for _, snapshot := range all {
		if snapshot.Cluster.Name != r.Cluster || snapshot.Contents == (Contents{}) {
			continue
		}
		name, err := retention.Parse(snapshot.Name)
		if err != nil {
			return nil, err
		}
		ours = append(ours, name)
	}
	for _, name := range r.Keep.Excess(ours) {
		for _, ending := range []string{sealedEnding, descriptionEnding} { // in this order: what is left of a killed run has a description
			if err := r.Objects.Delete(ctx, name.String()+ending); err != nil && !errors.Is(err, bucket.ErrNotFound) {
				return deleted, err
			}
		}
		deleted = append(deleted, name.String())
	}
	return deleted, nil
}

// Names returns the names of the snapshots in the bucket, newest first. Other objects are left out.
func (r Remote) Names(ctx context.Context) ([]retention.Name, error) {
	objects, err := r.Objects.List(ctx)
	if err != nil {
		return nil, err
	}
	var names []retention.Name
	for _, object := range objects {
		text, isSnapshot := strings.CutSuffix(object.Key, sealedEnding)
		if name, err := retention.Parse(text); isSnapshot && err == nil {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, retention.NewestFirst)
	return names, nil
}

// read returns the description of a snapshot.
func (r Remote) read(ctx context.Context, name retention.Name) (Snapshot, error) {
	var snapshot Snapshot
	description, err := r.Objects.Read(ctx, name.String()+descriptionEnding)
	if err == nil && json.Unmarshal(description, &snapshot) != nil {
		snapshot = Snapshot{} // somebody else's
	}
	if err != nil && !errors.Is(err, bucket.ErrNotFound) {
		return Snapshot{}, err
	}
	snapshot.Name, snapshot.Taken, snapshot.Reason, snapshot.Path = name.String(), name.Taken, name.Kind, ""
	return snapshot, nil
}

// Copied is a snapshot and where it is.
type Copied struct {
	Snapshot
	// Local reports whether it is on this machine.
	Local bool `json:"local"`
	// Bucket reports whether it is in the bucket of the inventory.
	Bucket bool `json:"bucket"`
}

// Merge returns the snapshots of a store and of a bucket, newest first, each once.
func Merge(local, remote []Snapshot) []Copied {
	var all []Copied
	for _, snapshot := range local {
		all = append(all, Copied{Snapshot: snapshot, Local: true})
	}
	for _, snapshot := range remote {
		at := slices.IndexFunc(all, func(c Copied) bool { return c.Name == snapshot.Name })
		if at < 0 {
			all = append(all, Copied{Snapshot: snapshot, Bucket: true})
			continue
		}
		all[at].Bucket = true
	}
	slices.SortStableFunc(all, func(a, b Copied) int { return cmp.Or(b.Taken.Compare(a.Taken), cmp.Compare(b.Name, a.Name)) })
	return all
}
