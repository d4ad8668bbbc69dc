package host

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// Random draws from streams that a seed decides. Its lock is the innermost one: nothing is called while it is held.
type Random struct {
	seed [32]byte

	mu sync.Mutex
	// draws counts how often was drawn for a purpose, so that it never repeats.
	draws map[string]uint64
}

// NewRandom is a source that nothing was drawn from yet.
func NewRandom(seed [32]byte) *Random { return &Random{seed: seed, draws: map[string]uint64{}} }

// Reader is a stream of its own for each drawing, so that what one VM gets does not depend on what others did.
func (r *Random) Reader(purpose string) io.Reader {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.draws[purpose]++

	var seed [32]byte

	sum := sha256.New()
	fmt.Fprintf(sum, "%x %s %d", r.seed, purpose, r.draws[purpose])
	sum.Sum(seed[:0])

	return rand.NewChaCha8(seed)
}

// UUID draws a UUID for a VM, or for what is no VM's with a VMID of 0.
func (r *Random) UUID(vmid int, what string) (string, error) {
	return vmconfig.NewUUID(r.Reader(fmt.Sprintf("vm %d %s", vmid, what)))
}

// kept is what outlives the process.
type kept struct {
	Draws map[string]uint64 `json:"draws"`
}

// Save returns what is kept, to be written before release is called.
func (r *Random) Save() (state any, release func()) {
	r.mu.Lock()

	return kept{Draws: r.draws}, r.mu.Unlock
}

// Restore takes over what was kept.
func (r *Random) Restore(state []byte, _ time.Time) error {
	restored := kept{Draws: map[string]uint64{}}
	if err := json.Unmarshal(state, &restored); err != nil {
		return err
	}

	r.mu.Lock()
	defer r.mu.Unlock()

	r.draws = restored.Draws

	return nil
}
