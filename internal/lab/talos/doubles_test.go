package talos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// heldPace skips all delays but one, which lasts until the test releases it.
type heldPace struct {
	held time.Duration
	gate chan struct{}
}

func newHeldPace(held time.Duration) *heldPace {
	return &heldPace{held: held, gate: make(chan struct{})}
}

func (p *heldPace) release() { close(p.gate) }

// Sleep implements talos.Pacer.
func (p *heldPace) Sleep(ctx context.Context, d time.Duration) error {
	if d != p.held {
		return ctx.Err()
	}

	select {
	case <-p.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// syncBuffer is a log that can be read while it is written.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.String()
}

// end returns the last lines of the log.
func (b *syncBuffer) end() string {
	lines := strings.SplitAfter(b.String(), "\n")

	return strings.Join(lines[max(0, len(lines)-100):], "")
}

// has reports whether the log has a step with this error.
func (b *syncBuffer) has(step, failure string) bool {
	for line := range strings.Lines(b.String()) {
		var entry struct{ Step, Error string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Step == step && entry.Error == failure {
			return true
		}
	}

	return false
}
