package etcdsnapshot

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/retention"
)

// Objects are the files of a folder of a bucket. The interface is declared here so that the program is built without the client of a server, which
// is a third of what its build takes. An object that does not exist is an [object.ErrNotFound].
type Objects interface {
	fmt.Stringer
	io.Closer
	// List returns the objects, sorted by their keys.
	List(ctx context.Context) ([]object.Object, error)
	Read(ctx context.Context, key string) ([]byte, error)
	Write(ctx context.Context, key string, content []byte) error
	Upload(ctx context.Context, key string, content io.Reader) error
	Download(ctx context.Context, key string, to io.Writer) error
	Delete(ctx context.Context, key string) error
}

// Remote are the copies of the snapshots of a stack in a bucket: each sealed as it is in the store, with its description beside it.
type Remote struct {
	// Objects is the folder of the bucket. Required.
	Objects Objects
	// Cluster is the name of the cluster. Required: snapshots of another one are not deleted.
	Cluster string
	// Keep is the rule by which snapshots stay, as that of the store.
	Keep retention.Rule
	// Spared are the names of snapshots that are copied and stay regardless of the rule, for example one that was just made while the clock was set
	// back. Default: none.
	Spared []string
	// OfPods is whether the rule also applies to the snapshots that the cluster itself stores there: only their names show whose they are.
	// Default: false, they are not deleted.
	OfPods bool
}

// put stores a copy of a snapshot.
func (r Remote) put(ctx context.Context, snapshot Snapshot) error {
	sealed, err := os.Open(snapshot.Path)
	if err != nil {
		return err
	}
	defer sealed.Close() //nolint:errcheck // only read
	description, err := describe(snapshot)
	if err != nil {
		return err
	}
	// The description is written first, so every snapshot in the bucket has one: a killed run leaves no snapshot that is never deleted.
	if err := r.Objects.Write(ctx, snapshot.Name+descriptionEnding, description); err != nil {
		return err
	}
	return r.Objects.Upload(ctx, snapshot.Name+sealedEnding, sealed)
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
	key, err := r.keyOf(ctx, snapshot)
	if err == nil {
		err = r.Objects.Download(ctx, key, file)
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return Snapshot{}, err
	}
	return into.adopt(file.Name(), snapshot)
}

// keyOf returns the key of a snapshot's object.
func (r Remote) keyOf(ctx context.Context, snapshot Snapshot) (string, error) {
	if snapshot.Reason != Scheduled {
		return snapshot.Name + sealedEnding, nil
	}
	all, err := r.stored(ctx)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(all, func(s stored) bool { return s.name.String() == snapshot.Name })
	if at < 0 {
		return "", fmt.Errorf("the bucket %s does not have the object of %s: list what is there", r.Objects, snapshot.Name)
	}
	return all[at].key, nil
}

// Prune deletes the snapshots of this cluster that the rule does not keep, with their descriptions, and returns their names, newest first. A snapshot
// without a description is not one of this tool and stays, unless the cluster itself stored it and the rule applies to those, too.
// The snapshots in [Remote.Spared] stay.
func (r Remote) Prune(ctx context.Context) (deleted []string, err error) {
	ours, err := r.own(ctx)
	if err != nil {
		return nil, err
	}
	keys := map[retention.Name]string{}
	for _, one := range ours {
		keys[one.name] = one.key
	}
	for _, name := range r.Keep.Excess(namesOf(ours)) {
		if slices.Contains(r.Spared, name.String()) {
			continue
		}
		for _, key := range []string{keys[name], name.String() + descriptionEnding} { // the description last, so that a killed run leaves no snapshot without it
			if err := r.Objects.Delete(ctx, key); err != nil && !errors.Is(err, object.ErrNotFound) {
				return deleted, err
			}
		}
		deleted = append(deleted, name.String())
	}
	return deleted, nil
}

// Names returns the names of the snapshots in the bucket, newest first. Other objects are left out.
func (r Remote) Names(ctx context.Context) ([]retention.Name, error) {
	all, err := r.stored(ctx)
	return namesOf(all), err
}

// stored is a snapshot in the bucket.
type stored struct {
	name retention.Name
	// key of the object.
	key string
}

func namesOf(all []stored) (names []retention.Name) {
	for _, one := range all {
		names = append(names, one.name)
	}
	return names
}

// stored returns the snapshots in the bucket, newest first.
func (r Remote) stored(ctx context.Context) ([]stored, error) {
	objects, err := r.Objects.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, one := range objects {
		text, isSnapshot := strings.CutSuffix(one.Key, sealedEnding)
		if name, err := retention.Parse(text); isSnapshot && err == nil {
			all = append(all, stored{name, one.Key})
		}
	}
	all = append(all, ofPods(r.Cluster, objects)...)
	slices.SortStableFunc(all, func(a, b stored) int { return retention.NewestFirst(a.name, b.name) })
	return all, nil
}

// read returns the description of a snapshot.
func (r Remote) read(ctx context.Context, name retention.Name) (Snapshot, error) {
	var snapshot Snapshot
	if name.Kind == Scheduled {
		return Snapshot{Name: name.String(), Taken: name.Taken, Reason: name.Kind, Cluster: Cluster{Name: r.Cluster}}, nil
	}
	description, err := r.Objects.Read(ctx, name.String()+descriptionEnding)
	if err == nil && json.Unmarshal(description, &snapshot) != nil {
		snapshot = Snapshot{} // written by another tool
	}
	if err != nil && !errors.Is(err, object.ErrNotFound) {
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
