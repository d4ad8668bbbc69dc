// Package api is the front of an emulated host: it finds the method that a request asks for, checks who calls, what for and
// with which parameters, in the order of Proxmox VE, and writes the answer. What answers the methods are the packages beside
// it, each with a state of its own; they are given verified calls only.
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

// Access decides who calls, and what they may do.
type Access interface {
	// Authenticate returns who makes a request to a path of the API.
	Authenticate(r *http.Request, path string) (identity string, err error)
	// Evaluate decides a method's rule for an identity and the parameters of a request, before these are verified.
	Evaluate(rule schema.Rule, identity string, params schema.Params) error
}

// Faults make calls fail. Implementations must be safe for concurrent use.
type Faults interface {
	// Call is asked before a call is handled, when its caller is known. An error is the call's answer; ErrPowerCut takes the
	// power from the hosts in its place.
	Call(ctx context.Context, c journal.Entry) error
	// Lost is asked when a call is done: true keeps its answer from the caller, by breaking the connection.
	Lost(c journal.Entry) bool
}

// Nodes are the names that requests can be passed on to.
type Nodes interface{ Has(name string) bool }

// Config is what a front needs. All of it is required.
type Config struct {
	// Release is that of Schema, the description of the API.
	Release schema.Release
	Schema  *schema.Schema
	// Methods are what the host answers; the description must have all of them.
	Methods []Method
	Access  Access
	Nodes   Nodes
	Faults  Faults
	Journal *journal.Journal
	Pace    pace.Pace
	Now     func() time.Time
	// PowerCut takes the power from the hosts, without waiting for that.
	PowerCut func()
}

// Front answers the requests to a host. It is an http.Handler for HTTP/1.1.
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

// NewFront is a front for these methods. It fails for one that the description of the API does not have.
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

// ServeHTTP answers one request and writes it into the call log.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	entry := journal.Entry{
		Time: f.now(), Verb: r.Method, Path: r.URL.Path, Client: shortened(r.UserAgent()), Peer: r.RemoteAddr,
	}

	a := f.answer(r, &entry)

	if a.delay > 0 {
		// A client that gives up ends the wait, and then nobody reads the answer.
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

// shortened keeps what a caller says of itself from filling the log.
func shortened(text string) string {
	const longest = 120

	return text[:min(len(text), longest)]
}

// HangUp ends a connection without an answer, as a host without power does.
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
