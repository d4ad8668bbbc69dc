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

// Random generates random streams from a seed. Its lock is the innermost one: nothing is called while it is held.
type Random struct {
	seed [32]byte

	mu sync.Mutex
	// draws counts the streams of each purpose, so that none repeats.
	draws map[string]uint64
}

// NewRandom returns an unused source.
func NewRandom(seed [32]byte) *Random { return &Random{seed: seed, draws: map[string]uint64{}} }

// Reader returns a new stream for a purpose. Purposes do not influence each other, so the values of one VM do not depend on
// others.
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

// UUID generates a UUID for a VM, or with VMID 0 for another object.
func (r *Random) UUID(vmid int, what string) (string, error) {
	return vmconfig.NewUUID(r.Reader(fmt.Sprintf("vm %d %s", vmid, what)))
}

// kept is the persistent state.
type kept struct {
	Draws map[string]uint64 `json:"draws"`
}

// Save locks the service and returns its persistent state, which must be encoded before release is called.
func (r *Random) Save() (state any, release func()) {
	r.mu.Lock()

	return kept{Draws: r.draws}, r.mu.Unlock
}

// Restore loads the persistent state.
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
