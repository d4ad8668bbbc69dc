package recovery

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path"
	"time"

	"github.com/em-infra/em-infra/internal/bucket"
	"github.com/em-infra/em-infra/internal/bucket/object"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// Claim is an object beside the state that shows that an em-infra works on a stack, from its beginning to its end. The engine's own locks are taken
// anew for each of its runs and do not contain the pipeline that has taken them, and if two engines start at once, both give up.
type Claim struct {
	Lock

	// ID is different for each claim.
	ID string `json:"id"`
	// Machine identifies what the process number belongs to: a boot of a machine, and a container on it. Empty if this system does not provide that.
	Machine string `json:"machine,omitempty"`
	// Begun is when the process began, in the system's own unit: process numbers are used again.
	Begun string `json:"begun,omitempty"`
	// Job identifies a job of a pipeline, and Attempt how often it was started.
	Job     string `json:"job,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
}

const (
	claimKey = "run.json"
	endedKey = "ended-"
)

// claims is the folder of the claim below the backend. The engine reads nothing there.
func (p Place) claims() string { return path.Join(".pulumi", "claims", p.Project, p.Stack) }

// ownClaim describes this process.
func ownClaim() Claim {
	claim := Claim{Machine: machineOf(), Begun: begun(os.Getpid())}
	claim.PID = os.Getpid()
	claim.Hostname, _ = os.Hostname() // a name for people; empty if there is none
	if who, err := user.Current(); err == nil {
		claim.Username = who.Username
	}
	claim.Run, claim.Job, claim.Attempt = pipelineRun(os.Getenv)
	return claim
}

// Take claims a stack for this process until Release. It returns a [BusyError] if another run has claimed it. A state that is neither
// in a bucket of S3 nor in a folder of this machine is not claimed: its claim is nil.
func Take(ctx context.Context, at Place, now time.Time) (*Claim, error) {
	if !at.isClaimed() {
		return nil, nil
	}
	claim := ownClaim()
	claim.Since = now.UTC().Truncate(time.Second)
	return claim.take(ctx, at)
}

// tries limits how often a claim is tried because another run ends its own at the same moment.
const tries = 5

// ErrJustEnded means that a claim was there at each try, and gone when it was read.
var ErrJustEnded = errors.New("other runs work on this stack, one after the other: run again")

func (c Claim) take(ctx context.Context, at Place) (*Claim, error) {
	c.ID = rand.Text()
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	for range tries {
		if err := at.writeClaim(ctx, text); err != nil && !errors.Is(err, bucket.ErrExists) {
			return nil, err
		}
		held, err := at.claim(ctx) // a server that ignores the condition keeps the one that was written last
		switch {
		case err != nil:
			return nil, err
		case held != nil && held.ID == c.ID:
			return held, nil
		case held != nil:
			return nil, &BusyError{at.lockOf(*held)}
		}
	}
	return nil, ErrJustEnded
}

// writeClaim stores a claim. The error wraps [bucket.ErrExists] if there is one.
func (p Place) writeClaim(ctx context.Context, text []byte) error {
	return p.inFolder(ctx, p.claims(), func(b objects) error {
		err := b.WriteNew(ctx, claimKey, text)
		if !errors.Is(err, bucket.ErrUnconditional) {
			return err
		}
		if _, err := b.Read(ctx, claimKey); !errors.Is(err, object.ErrNotFound) {
			return errors.Join(err, bucket.ErrExists)
		}
		return b.Write(ctx, claimKey, text) // if two runs come here at once, the engine's locks keep them apart
	})
}

// End ends the claim of this process; without one, nil, it does nothing. In a bucket, it removes the lock of a dead engine first, since later
// nothing proves that the engine was one of this machine. In a folder, the next run can see that.
func (c *Claim) End(ctx context.Context, at Place) error {
	if c == nil {
		return nil
	}
	if at.inBucket() {
		if _, err := RemoveDead(ctx, at); err != nil {
			return err
		}
	}
	return c.Release(ctx, at)
}

// Release removes the claim.
func (c *Claim) Release(ctx context.Context, at Place) error {
	held, err := at.claim(ctx)
	if err != nil || held == nil || held.ID != c.ID {
		return err
	}
	return at.remove(ctx, at.claims(), claimKey)
}

// claim returns the claim of a stack; nil for none.
func (p Place) claim(ctx context.Context) (*Claim, error) {
	var claim *Claim
	return claim, p.inFolder(ctx, p.claims(), func(b objects) error {
		text, err := b.Read(ctx, claimKey)
		if errors.Is(err, object.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		claim = &Claim{}
		if err := json.Unmarshal(text, claim); err != nil {
			return refusal.Of(fmt.Errorf("the claim %s in %s cannot be read (%w): if no other run is going on, remove it with `em-infra state unlock --force`", claimKey, b, err))
		}
		return nil
	})
}
