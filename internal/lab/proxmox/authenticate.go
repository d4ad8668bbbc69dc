package proxmox

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// The sentences of a refused login (pve-manager HTTPServer.pm, auth_handler).
var (
	errNoTicket       = errors.New("No ticket")
	errAuthentication = errors.New("Authentication failed!")
)

// tokenHeader finds the token in an Authorization header (pve-http-server Formatter.pm, extract_auth_value).
var tokenHeader = regexp.MustCompile(`(?:^|\s)PVEAPIToken(?:=| )([^;]*)`)

// authenticate returns who calls, by a token or by the ticket of a session.
func (s *Server) authenticate(r *http.Request, path string) (string, error) {
	if path == ticketEndpoint && (r.Method == http.MethodGet || r.Method == http.MethodPost) {
		return "", nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	match := tokenHeader.FindStringSubmatch(r.Header.Get("Authorization"))
	if match != nil && match[1] != "" {
		return s.byToken(match[1])
	}

	if ticket := ticketOf(r); ticket != "" {
		return s.byTicket(r, path, ticket)
	}

	return "", errNoTicket
}

func (s *Server) byToken(escaped string) (string, error) {
	value, err := url.PathUnescape(escaped)
	if err != nil {
		return "", errAuthentication
	}

	identity, err := s.state.Access.Verify(value, s.config.Now())
	if err != nil {
		// Proxmox VE tells the reason to its log only.
		s.journal.note("authentication failure", err)
		return "", errAuthentication
	}

	return identity, nil
}

// readRequest collects the parameters, and of an upload the size of its file.
func readRequest(r *http.Request, path string) (schema.Params, uint64, error) {
	if uploadPath.MatchString(path) && r.Method == http.MethodPost {
		return readUpload(r)
	}

	params, err := readParams(r)

	return params, 0, err
}

var uploadPath = regexp.MustCompile(`^/nodes/[^/]+/storage/[^/]+/upload$`)
