package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/address"
	"github.com/em-infra/em-infra/internal/bucket/object"
)

func (p Place) inBucket() bool { return address.IsS3(p.Backend) }

// inFolder does something in a folder beside the state, in its bucket or on this machine.
func (p Place) inFolder(ctx context.Context, folder string, do func(objects) error) error {
	if root := p.folder(); root != "" {
		return do(folderObjects(filepath.Join(root, filepath.FromSlash(folder))))
	}
	b, err := bucket.Open(ctx, p.Backend, folder, bucket.Limits{})
	if err != nil {
		return err
	}
	return errors.Join(do(b), b.Close())
}

// locksInBucket returns the claim and the engine's locks in a bucket. Process numbers mean nothing on another machine, and host names are
// not unique: a lock of the engine is judged only if the claim beside it proves that it was taken on this machine.
func (p Place) locksInBucket(ctx context.Context) ([]Lock, error) {
	claim, err := p.claim(ctx)
	if err != nil {
		return nil, err
	}
	here, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	var locks []Lock
	if claim != nil {
		locks = append(locks, p.lockOf(*claim))
	}
	judged := claim != nil && claim.isOfThisMachine() && claim.Hostname == here
	return locks, p.inFolder(ctx, p.locks(), func(b objects) error {
		objects, err := b.List(ctx)
		if err != nil {
			return err
		}
		for _, one := range objects {
			lock, err := readObject(ctx, b, one.Key)
			if errors.Is(err, object.ErrNotFound) {
				continue // its owner has just ended
			}
			if err != nil {
				return err
			}
			if claim != nil && claim.Hostname == lock.Hostname {
				lock.Run = claim.Run
			}
			lock.judge(judged && lock.Hostname == here, alive)
			lock.ofEngine = true
			lock.remove = func(ctx context.Context) error { return p.remove(ctx, p.locks(), one.Key) }
			locks = append(locks, lock)
		}
		return nil
	})
}

// lockOf returns a claim as a lock.
func (p Place) lockOf(claim Claim) Lock {
	own, lock := ownClaim(), claim.Lock
	lock.Stale = claim.isDead(own) || !p.inBucket() && claim.isDeadBeside(own)
	lock.seen = claim.isSeen(own, p.inBucket())
	lock.own = claim.PID == own.PID && claim.Hostname == own.Hostname && claim.Machine == own.Machine && claim.Begun == own.Begun
	lock.remove = func(ctx context.Context) error { return p.removeClaim(ctx, claim) }
	return lock
}

func readObject(ctx context.Context, b objects, key string) (Lock, error) {
	var lock Lock
	text, err := b.Read(ctx, key)
	if err != nil {
		return lock, err
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return lock, fmt.Errorf("the lock %s in %s cannot be read (%w): if no other run is going on, remove it with `em-infra state unlock --force`", key, b, err)
	}
	return lock, nil
}

// remove removes an object; one that is gone is no error.
func (p Place) remove(ctx context.Context, folder, key string) error {
	return p.inFolder(ctx, folder, func(b objects) error {
		if err := b.Delete(ctx, key); !errors.Is(err, object.ErrNotFound) {
			return err
		}
		return nil
	})
}
