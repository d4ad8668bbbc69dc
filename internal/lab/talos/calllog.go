package talos

import (
	"encoding/json"
	"io"
	"net/netip"
	"sync"
	"time"
)

// logLine is one line of the log: a call if Method is set, a step of a machine's life if Step is set.
type logLine struct {
	Time   time.Time  `json:"time"`
	VMID   int        `json:"vmid"`
	Node   netip.Addr `json:"node,omitzero"`
	Method string     `json:"method,omitempty"`
	Step   Step       `json:"step,omitempty"`
	// Target is the node that the client named. Forwarded marks a call that another node forwarded.
	Target    string `json:"target,omitempty"`
	Forwarded bool   `json:"forwarded,omitempty"`
	// Roles of the caller's certificate, Client is the name of its program, Peer its address.
	Roles  []string `json:"roles,omitempty"`
	Client string   `json:"client,omitempty"`
	Peer   string   `json:"peer,omitempty"`
	Code   string   `json:"code,omitempty"`
	Error  string   `json:"error,omitempty"`
	// Milliseconds is the duration of the call or step.
	Milliseconds float64 `json:"ms"`
}

// logbook writes the log. It is safe for concurrent use.
type logbook struct {
	now func() time.Time

	mu      sync.Mutex
	encoder *json.Encoder
	err     error
}

func newLogbook(w io.Writer, now func() time.Time) *logbook {
	return &logbook{now: now, encoder: json.NewEncoder(w)}
}

// write adds the duration and writes the line. A log that cannot be written does not stop a node: Fleet.Close returns the
// first failure.
func (l *logbook) write(line logLine, began time.Time) {
	line.Time = began.UTC()
	line.Milliseconds = float64(l.now().Sub(began).Microseconds()) / 1000

	l.mu.Lock()
	defer l.mu.Unlock()

	if err := l.encoder.Encode(line); err != nil && l.err == nil {
		l.err = err
	}
}

func (l *logbook) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.err
}
