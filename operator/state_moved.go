package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/internal/workspace"
)

// movedState is the note in a place from which the state of a stack was moved. Without it, a run with an older file of the stack would begin
// a second, empty state there.
type movedState struct {
	// To is the URL of the new place.
	To string `json:"to"`
	// At is when it was moved.
	At time.Time `json:"at"`
}

// movedFolder is the folder of the notes below a state's URL, beside the engine's own.
var movedFolder = path.Join(".em-infra", "moved", workspace.Project)

func (o *Operator) movedKey() string { return o.workspace.Stack + ".json" }

// inMoved does something in the folder of the notes of a place. Places that are neither a bucket of S3 nor a folder have none.
func inMoved(ctx context.Context, backend string, do func(*bucket.Bucket) error) error {
	folder, isFile := strings.CutPrefix(backend, "file://")
	if !isFile && !address.IsS3(backend) {
		return nil
	}
	if _, err := os.Stat(folder); isFile && errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever there
	}
	b, err := bucket.Open(ctx, backend, movedFolder, bucket.Limits{})
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}

// noteMove leaves the note in the present place, and removes the one that an earlier move has left in the new place.
func (o *Operator) noteMove(ctx context.Context, to string) error {
	text, err := json.Marshal(movedState{To: to, At: o.clock.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	return errors.Join(
		inMoved(ctx, o.workspace.Backend, func(b *bucket.Bucket) error { return b.Write(ctx, o.movedKey(), text) }),
		inMoved(ctx, to, func(b *bucket.Bucket) error {
			if err := b.Delete(ctx, o.movedKey()); !errors.Is(err, object.ErrNotFound) {
				return err
			}
			return nil
		}),
	)
}

// checkNotMoved refuses a place from which the state was moved. It is asked when there is no state.
func (o *Operator) checkNotMoved(ctx context.Context) error {
	return inMoved(ctx, o.workspace.Backend, func(b *bucket.Bucket) error {
		text, err := b.Read(ctx, o.movedKey())
		if errors.Is(err, object.ErrNotFound) {
			return nil
		}
		var moved movedState
		if err == nil {
			err = json.Unmarshal(text, &moved)
		}
		if err != nil {
			return fmt.Errorf("the note on where the state of stack %s was moved to cannot be read (%w): look for it in %s", o.workspace.Stack, err, path.Join(o.workspace.ShownBackend(), movedFolder))
		}
		return fmt.Errorf("the state of stack %s is not in %s any more, it was moved to %s on %s: take the newest %s from git, or write `em-infra:backend: %s` below config in it",
			o.workspace.Stack, o.workspace.ShownBackend(), shown(moved.To), moved.At.Format(time.DateOnly), path.Base(o.workspace.StackFile()), moved.To)
	})
}

func shown(url string) string {
	without, _, _ := strings.Cut(url, "?")
	return without
}

// checkFirst refuses to create a state for a stack that has had one: it may be elsewhere. A rehearsal in its own folder begins anew when
// that is emptied, and the draft of an adoption is in another place on purpose.
func (s *session) checkFirst() error {
	own := *s.workspace
	if err := own.RereadBackend(); err != nil || own.Backend != s.workspace.Backend {
		return err
	}
	had, err := s.workspace.HadState()
	if err != nil || !had || s.workspace.Rehearsed && s.workspace.StateFolder() != "" {
		return err
	}
	file := workspace.Nearby(s.workspace.StackFile())
	return fmt.Errorf("stack %s has had a state (%s has its salt or key), and %s has none: if it is elsewhere, write its URL as em-infra:backend below config in that file; if it is lost, see `em-infra state list %s` and `em-infra adopt`; for a new cluster, delete the lines encryptionsalt and encryptedkey there, and the values that they seal",
		s.workspace.Stack, file, s.workspace.ShownBackend(), s.place.Stack)
}
