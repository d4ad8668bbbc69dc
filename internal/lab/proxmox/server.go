// Package proxmox emulates the API of Proxmox VE for a host, or a cluster of hosts, that exists in memory only: what a
// provider sees of it over HTTPS, with tasks that take time, locks, permissions and a storage that fills up.
//
// Facts come from the sources of Proxmox VE 8.4 (qemu-server 8.4, pve-manager 8.4, pve-storage 8.3,
// pve-access-control 8.2, pve-http-server, pve-common 8.3) and 9.1; comments name the file.
package proxmox

import (
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/flock"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/task"
)

// Server is an emulated host or cluster. It is an http.Handler for HTTP/1.1.
type Server struct {
	config  Config
	schema  *schema.Schema
	router  *router
	journal *journal
	locks   flock.Locks
	tasks   *task.List
	// booted is when the host came up.
	booted time.Time

	// mu guards the state, which handlers and workers change. It is never held while something takes time.
	mu    sync.Mutex
	state *state
	// nodes are the hosts as they are described now; they grow while the lab runs.
	nodes atomic.Pointer[[]Host]

	workers workers
	saver   saver
	boots   sync.Once
	// ticketKey signs the tickets of sessions.
	ticketKey []byte
	// down is set while the host reboots, served is the certificate that is shown; guarded by mu.
	down   bool
	served []byte
}

// NewServer builds the host that the configuration describes, or restores it from its state file. Mistakes in the
// configuration wrap ErrConfig and are all reported at once.
func NewServer(config Config) (*Server, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}

	described, err := schema.Load(config.Release)
	if err != nil {
		return nil, err
	}

	rows := routes()
	for _, r := range rows {
		if _, ok := described.Method(r.Verb, r.Path); !ok && r.known(config.Release) {
			return nil, fmt.Errorf("%s %s is not in the embedded description of proxmox ve %s: run go generate",
				r.Verb, r.Path, config.Release)
		}
	}

	s := &Server{
		config: config, schema: described, router: newRouter(rows), journal: newJournal(config.Log),
		tasks: task.NewList(config.Now), booted: config.Now(), ticketKey: []byte(rand.Text()),
	}
	s.workers.start()

	if err := s.load(); err != nil {
		return nil, err
	}

	s.saver.start(s)

	return s, nil
}

// Serve answers on a listener with a certificate until the listener is closed or Close is called.
func (s *Server) Serve(listener net.Listener, certificate tls.Certificate) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		// Failures are answered by taking over the connection; TLS handshakes that fail are the caller's to notice.
		ErrorLog: log.New(discard{}, "", 0),
		// An empty map keeps HTTP/2 off, which Proxmox VE does not speak.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			MinVersion:   tls.VersionTLS12,
			NextProtos:   []string{"http/1.1"},
		},
	}

	open := s.workers.onClose(func() {
		if err := server.Close(); err != nil {
			s.journal.note("listener not closed", err)
		}
	})
	if !open {
		return listener.Close()
	}

	s.certify(certificate)

	if err := s.bootOnce(); err != nil && !errors.Is(err, errClosed) {
		return errors.Join(err, listener.Close())
	}

	err := server.ServeTLS(listener, "", "")
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}

	return err
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close takes the host down as a power cut does: what was running is written down as it is, workers end without
// finishing. It returns the error of the last writing of the state file, and the first of writing the call log.
func (s *Server) Close() error {
	err := s.saver.stop()
	s.workers.stop()

	return errors.Join(err, s.journal.failure())
}

// ServeHTTP answers one request and writes it into the call log.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.isDown() {
		hangUp(w)
		return
	}

	s.follow()

	started := time.Now()
	entry := Call{
		Time: s.config.Now(), Verb: r.Method, Path: r.URL.Path, Client: shortened(r.UserAgent()), Peer: r.RemoteAddr,
	}

	a := s.answer(r, &entry)

	if a.delay > 0 {
		// A client that gives up ends the wait, and then nobody reads the answer.
		_ = s.config.Pace.Sleep(r.Context(), a.delay)
	}

	entry.Status, entry.Message = a.status, strings.TrimSpace(a.message)
	entry.Milliseconds = float64(time.Since(started).Microseconds()) / 1000
	s.journal.write(entry)

	if a.lost {
		hangUp(w)
		return
	}

	if err := a.write(w, s.config.Now()); err != nil {
		s.journal.undelivered(entry, err)
	}
}

// shortened keeps what a caller says of itself from filling the log.
func shortened(text string) string {
	const longest = 120

	return text[:min(len(text), longest)]
}
