// Package journal is the call log of an emulated host: its requests and responses.
package journal

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Entry is a request in the call log. It has no parameters, so it cannot contain a secret.
type Entry struct {
	Time time.Time `json:"time"`
	// Verb and Path of the request. Endpoint is the template of the path, empty if it is not emulated.
	Verb     string `json:"method"`
	Path     string `json:"path"`
	Endpoint string `json:"endpoint,omitempty"`
	Node     string `json:"node,omitempty"`
	VMID     int    `json:"vmid,omitempty"`
	// Creates is the VMID of the VM that a call creates.
	Creates int `json:"creates,omitempty"`
	// Identity is the caller's user or token, never its secret; Client is what the caller's program calls itself, and Peer
	// where it calls from.
	Identity string `json:"identity,omitempty"`
	Client   string `json:"client,omitempty"`
	Peer     string `json:"peer,omitempty"`
	Status   int    `json:"status"`
	Message  string `json:"message,omitempty"`
	// Milliseconds is the duration of the call, including the lab's delays.
	Milliseconds float64 `json:"ms"`
	// Fault is set if the response is that of a fault.
	Fault bool `json:"fault,omitempty"`
	// Unknown is set for methods that are not emulated.
	Unknown bool `json:"unknown,omitempty"`
}

// Write reports whether the call could change something.
func (e Entry) Write() bool { return e.Verb != http.MethodGet && e.Verb != http.MethodHead }

// mostEntries limits the entries in memory. The log on disk has all.
const mostEntries = 10000

// Journal is the call log. It is safe for concurrent use.
type Journal struct {
	mu      sync.Mutex
	out     *json.Encoder
	entries []Entry
	err     error
}

// New returns a log that writes one line of JSON per entry to w.
func New(w io.Writer) *Journal { return &Journal{out: json.NewEncoder(w)} }

// Write records a request with its result.
func (j *Journal) Write(e Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()

	if len(j.entries) == mostEntries {
		j.entries = slices.Delete(j.entries, 0, mostEntries/2)
	}

	j.entries = append(j.entries, e)
	j.encode(e)
}

// encode writes a line. After an error the lab continues without a log; Failure returns the first error.
func (j *Journal) encode(line any) {
	if err := j.out.Encode(line); err != nil && j.err == nil {
		j.err = err
	}
}

type note struct {
	Time  time.Time `json:"time"`
	Note  string    `json:"note"`
	Path  string    `json:"path,omitempty"`
	Error string    `json:"error"`
}

// Note records what the API does not return to the caller.
func (j *Journal) Note(what string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.encode(note{Time: time.Now(), Note: what, Error: err.Error()})
}

// Undelivered records a response that did not reach its caller.
func (j *Journal) Undelivered(e Entry, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.encode(note{Time: time.Now(), Note: "undelivered", Path: e.Path, Error: err.Error()})
}

// Entries returns the latest entries, oldest first: at least the last 5000.
func (j *Journal) Entries() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()

	return slices.Clone(j.entries)
}

// Failure returns the first error of writing the log, or nil.
func (j *Journal) Failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.err == nil {
		return nil
	}

	return fmt.Errorf("write the call log of the host: %w", j.err)
}
