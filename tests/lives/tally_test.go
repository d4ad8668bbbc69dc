package lives_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/model"
)

// tally counts what the lives of this process were made of.
type tally struct {
	mu      sync.Mutex
	lives   int
	longest time.Duration
	all     time.Duration
	counts  map[string]int
}

func (t *tally) add(h history.History, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lives++
	t.all += took
	t.longest = max(t.longest, took)
	for _, m := range h.Moves {
		t.countLocked("moves", 1)
		t.countLocked("moves: "+string(m.Verb), 1)
	}
}

func (t *tally) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countLocked(what, 1)
}

func (t *tally) checked(invariants ...model.Invariant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.countLocked("invariants checked", len(invariants))
}

func (t *tally) countLocked(what string, n int) {
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}

// print prints the report, if there was a life.
func (t *tally) print(began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lives == 0 {
		return
	}
	parts := []string{fmt.Sprintf("%d lives in %s, %s each, the longest %s", t.lives, time.Since(began).Round(time.Second), (t.all / time.Duration(t.lives)).Round(time.Second), t.longest.Round(time.Second))}
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, t.counts[what]))
	}
	fmt.Println(strings.Join(parts, "\n  "))
}
