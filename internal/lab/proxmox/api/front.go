// Package api is the front of an emulated host: it finds the method of a request, checks the caller, the permissions and the
// parameters in the order of Proxmox VE, and writes the response. The methods are in the packages beside it, each with its
// own state. They receive verified calls only.
package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Access authenticates callers and checks their privileges.
type Access interface {
	// Authenticate returns the caller of a request to a path of the API.
	Authenticate(r *http.Request, path string) (identity string, err error)
	// Evaluate checks a method's rule for an identity and the unverified parameters of a request.
	Evaluate(rule schema.Rule, identity string, params schema.Params) error
}

// Faults make calls fail. Implementations must be safe for concurrent use.
type Faults interface {
	// Call is called before a call is handled, after authentication. An error is the call's response; ErrPowerCut cuts the
	// power of the hosts instead.
	Call(ctx context.Context, c journal.Entry) error
	// Lost is called after a call. With true its response is not sent: the connection breaks.
	Lost(c journal.Entry) bool
}

// Nodes are the nodes to which requests can be forwarded.
type Nodes interface{ Has(name string) bool }

// Config configures a front. All fields are required.
type Config struct {
	// Release is the release of Schema, the API description.
	Release schema.Release
	Schema  *schema.Schema
	// Methods of the host. The API description must contain all of them.
	Methods []Method
	Access  Access
	Nodes   Nodes
	Faults  Faults
	Journal *journal.Journal
	Pace    pace.Pace
	Now     func() time.Time
	// PowerCut cuts the power of the hosts. It does not block.
	PowerCut func()
}

// Front serves the requests to a host. It is an http.Handler for HTTP/1.1.
type Front struct {
	schema   *schema.Schema
	router   *router
	access   Access
	nodes    Nodes
	faults   Faults
	journal  *journal.Journal
	pace     pace.Pace
	now      func() time.Time
	powerCut func()
}

// NewFront returns a front for these methods. The error is a method that is not in the API description.
func NewFront(c Config) (*Front, error) {
	for _, m := range c.Methods {
		if _, ok := c.Schema.Method(m.Verb, m.Path); !ok {
			return nil, fmt.Errorf("%s %s is not in the embedded description of proxmox ve %s: run go generate",
				m.Verb, m.Path, c.Release)
		}
	}

	return &Front{
		schema: c.Schema, router: newRouter(c.Methods), access: c.Access, nodes: c.Nodes, faults: c.Faults,
		journal: c.Journal, pace: c.Pace, now: c.Now, powerCut: c.PowerCut,
	}, nil
}

// ServeHTTP serves one request and writes it to the call log.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	entry := journal.Entry{
		Time: f.now(), Verb: r.Method, Path: r.URL.Path, Client: shortened(r.UserAgent()), Peer: r.RemoteAddr,
	}

	a := f.answer(r, &entry)

	if a.delay > 0 {
		// A disconnected client ends the delay; the response then has no receiver.
		_ = f.pace.Sleep(r.Context(), a.delay)
	}

	entry.Status, entry.Message = a.status, strings.TrimSpace(a.message)
	entry.Milliseconds = float64(time.Since(started).Microseconds()) / 1000
	f.journal.Write(entry)

	if a.lost {
		HangUp(w)
		return
	}

	if err := a.write(w, f.now()); err != nil {
		f.journal.Undelivered(entry, err)
	}
}

// shortened limits the length of a client's text in the log.
func shortened(text string) string {
	const longest = 120

	return text[:min(len(text), longest)]
}

// HangUp closes a connection without a response, as a host without power does.
func HangUp(w http.ResponseWriter) {
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}

	if conn, _, err := hijacker.Hijack(); err == nil {
		conn.Close()
	}
}
