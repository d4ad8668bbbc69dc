package recovery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
)

// removalTime bounds the removal of a claim, which Ctrl-C does not cut off: what is left of it would stop later runs.
const removalTime = 30 * time.Second

// removeClaim removes the claim of a dead run. If several runs find it dead, only the one that writes the mark first removes it: a later one would
// remove the claim of a run that has begun since.
func (p Place) removeClaim(ctx context.Context, dead Claim) error {
	mark := endedKey + dead.ID
	if err := p.mark(ctx, mark); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removalTime)
	defer cancel()
	return errors.Join(dead.Release(ctx, p), p.removeMarks(ctx, mark))
}

// mark writes a mark with a claim of this process. If the process of an existing mark is dead, or the mark names none, the process that writes the
// next mark goes on with the removal. It returns a [BusyError] while another process removes, and [ErrJustEnded] if one has just done so.
func (p Place) mark(ctx context.Context, mark string) error {
	own := ownClaim()
	own.ID = rand.Text()
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	var other Claim
	err = p.inFolder(ctx, p.claims(), func(b objects) error {
		err := b.WriteNew(ctx, mark+".json", text)
		if !errors.Is(err, bucket.ErrExists) {
			return err
		}
		held, unread := b.Read(ctx, mark+".json")
		switch {
		case errors.Is(unread, object.ErrNotFound):
			return ErrJustEnded
		case unread != nil:
			return unread
		case json.Unmarshal(held, &other) != nil:
			other = Claim{} // a mark that is torn names no process
		}
		return err
	})
	switch {
	case errors.Is(err, bucket.ErrUnconditional):
		return nil // if two runs come here at once, the engine's locks keep them apart
	case !errors.Is(err, bucket.ErrExists):
		return err
	case other.ID == "" || p.lockOf(other).Stale:
		return p.mark(ctx, mark+"-"+other.ID)
	default:
		return &BusyError{p.lockOf(other)}
	}
}

// removeMarks removes all marks of a removal.
func (p Place) removeMarks(ctx context.Context, mark string) error {
	return p.inFolder(ctx, p.claims(), func(b objects) error {
		return removeEach(ctx, b, func(key string) bool { return strings.HasPrefix(key, mark) })
	})
}

// RemoveClaims removes the claim of a stack and the marks of claims, regardless of their owners.
func RemoveClaims(ctx context.Context, at Place) error {
	if !at.isClaimed() {
		return nil
	}
	return at.inFolder(ctx, at.claims(), func(b objects) error {
		return removeEach(ctx, b, func(string) bool { return true })
	})
}

func removeEach(ctx context.Context, b objects, chosen func(key string) bool) error {
	objects, err := b.List(ctx)
	if err != nil {
		return err
	}
	for _, one := range objects {
		if !chosen(one.Key) {
			continue
		}
		if err := b.Delete(ctx, one.Key); err != nil && !errors.Is(err, object.ErrNotFound) {
			return err
		}
	}
	return nil
}
