package operator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/workspace"
)

// stateNote is a kind of note about a stack in a place of states.
type stateNote string

const (
	// noteMoved is in a place from which the state was moved: a [movedState].
	noteMoved stateNote = "moved"
	// noteArriving is in a place to which the state is being moved: an [arrivingState].
	noteArriving stateNote = "arriving"
)

// folder is where the notes of a kind are below a state's URL, beside the engine's own folder.
func (n stateNote) folder() string { return path.Join(".em-infra", string(n), workspace.Project) }

// readNote reports whether there is a note of a kind in a place, and reads it.
func (o *Operator) readNote(ctx context.Context, backend string, kind stateNote, note any) (found bool, err error) {
	err = inNotes(ctx, backend, kind, func(b *bucket.Bucket) error {
		text, err := b.Read(ctx, o.noteKey())
		if errors.Is(err, object.ErrNotFound) {
			return nil
		}
		found = true
		if err != nil {
			return err
		}
		return json.Unmarshal(text, note)
	})
	return found, err
}

// writeNote replaces the note of a kind in a place.
func (o *Operator) writeNote(ctx context.Context, backend string, kind stateNote, note any) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return inNotes(ctx, backend, kind, func(b *bucket.Bucket) error { return b.Write(ctx, o.noteKey(), text) })
}

// removeNote removes the note of a kind from a place, if there is one.
func (o *Operator) removeNote(ctx context.Context, backend string, kind stateNote) error {
	return inNotes(ctx, backend, kind, func(b *bucket.Bucket) error {
		if err := b.Delete(ctx, o.noteKey()); !errors.Is(err, object.ErrNotFound) {
			return err
		}
		return nil
	})
}

func (o *Operator) noteKey() string { return o.workspace.Stack + ".json" }

// inNotes does something in the folder of the notes of a place. Places that are neither a bucket of S3 nor a folder have none.
func inNotes(ctx context.Context, backend string, kind stateNote, do func(*bucket.Bucket) error) error {
	if workspace.FolderOf(backend) == "" && !address.IsS3(backend) || isAbsentFolder(backend) {
		return nil
	}
	b, err := bucket.Open(ctx, backend, kind.folder(), bucket.Limits{})
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}

// isAbsentFolder reports whether a place is a folder that this machine does not have.
func isAbsentFolder(backend string) bool {
	folder := workspace.FolderOf(backend)
	if folder == "" {
		return false
	}
	_, err := os.Stat(folder)
	return errors.Is(err, os.ErrNotExist)
}
