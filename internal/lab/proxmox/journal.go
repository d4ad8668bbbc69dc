package proxmox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Call is one request as the call log has it. It holds no parameters, so no secret can be among them.
type Call struct {
	Time time.Time `json:"time"`
	// Verb and Path are the request's; Endpoint is the template of the path, empty for one that is not emulated.
	Verb     string `json:"method"`
	Path     string `json:"path"`
	Endpoint string `json:"endpoint,omitempty"`
	Node     string `json:"node,omitempty"`
	VMID     int    `json:"vmid,omitempty"`
	// Creates is the VMID that a call makes, or a clone's new one.
	Creates int `json:"creates,omitempty"`
	// Identity is the caller's user or token, never its secret; Client is what the caller's program calls itself, and Peer
	// where it calls from.
	Identity string `json:"identity,omitempty"`
	Client   string `json:"client,omitempty"`
	Peer     string `json:"peer,omitempty"`
	Status   int    `json:"status"`
	Message  string `json:"message,omitempty"`
	// Milliseconds that the call took, the lab's delays included.
	Milliseconds float64 `json:"ms"`
	// Fault is set when a fault that was asked for answered.
	Fault bool `json:"fault,omitempty"`
	// Unknown is set for methods that are not emulated.
	Unknown bool `json:"unknown,omitempty"`
}

// Write reports whether the call could change something.
func (c Call) Write() bool { return c.Verb != http.MethodGet && c.Verb != http.MethodHead }

// mostCalls bounds what is kept in memory; the log on disk has everything.
const mostCalls = 10000

// journal is the call log.
type journal struct {
	mu    sync.Mutex
	out   *json.Encoder
	calls []Call
	err   error
}

func newJournal(w io.Writer) *journal { return &journal{out: json.NewEncoder(w)} }

func (j *journal) write(c Call) {
	j.mu.Lock()
	defer j.mu.Unlock()

	if len(j.calls) == mostCalls {
		j.calls = slices.Delete(j.calls, 0, mostCalls/2)
	}

	j.calls = append(j.calls, c)
	j.encode(c)
}

// encode writes a line; the first failure is kept for Server.Close, and the lab goes on without a log.
func (j *journal) encode(line any) {
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

// note records what the caller is not told.
func (j *journal) note(what string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.encode(note{Time: time.Now(), Note: what, Error: err.Error()})
}

// undelivered records an answer that did not reach its caller.
func (j *journal) undelivered(c Call, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()

	j.encode(note{Time: time.Now(), Note: "undelivered", Path: c.Path, Error: err.Error()})
}

// Calls returns the latest calls, oldest first: at least the last 5000.
func (s *Server) Calls() []Call {
	s.journal.mu.Lock()
	defer s.journal.mu.Unlock()

	return slices.Clone(s.journal.calls)
}

// failure is the first error of writing the log, or nil.
func (j *journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()

	if j.err == nil {
		return nil
	}

	return fmt.Errorf("write the call log of the host: %w", j.err)
}
