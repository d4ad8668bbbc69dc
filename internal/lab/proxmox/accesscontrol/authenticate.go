package accesscontrol

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// The sentences of a refused login (pve-manager HTTPServer.pm, auth_handler).
var (
	errNoTicket = errors.New("No ticket")
	// ErrAuthentication says that the caller is not who they claim to be.
	ErrAuthentication = errors.New("Authentication failed!")
)

// tokenHeader finds the token in an Authorization header (pve-http-server Formatter.pm, extract_auth_value).
var tokenHeader = regexp.MustCompile(`(?:^|\s)PVEAPIToken(?:=| )([^;]*)`)

// Authenticate returns who calls, by a token or by the ticket of a session.
func (s *Service) Authenticate(r *http.Request, path string) (string, error) {
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

func (s *Service) byToken(escaped string) (string, error) {
	value, err := url.PathUnescape(escaped)
	if err != nil {
		return "", ErrAuthentication
	}

	identity, err := s.db.Verify(value, s.env.Now())
	if err != nil {
		// Proxmox VE tells the reason to its log only.
		s.env.Note("authentication failure", err)
		return "", ErrAuthentication
	}

	return identity, nil
}

// Evaluate decides a method's permission rule for an identity and the parameters of the request. Its errors wrap
// [access.ErrPermission].
func (s *Service) Evaluate(rule schema.Rule, identity string, params schema.Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.Evaluate(rule, identity, params)
}

// Check demands every privilege on a path, or with anyOf at least one. Its error is an [access.Refusal].
func (s *Service) Check(identity, path string, anyOf bool, privileges ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.Check(identity, path, anyOf, privileges...)
}

// Allowed is Check for callers that only want to know.
func (s *Service) Allowed(identity, path string, privileges ...string) bool {
	return s.Check(identity, path, false, privileges...) == nil
}

// CheckVM demands privileges on a VM, which its pool or the pool that it is about to join may grant as well.
func (s *Service) CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.CheckVM(identity, vmid, pool, anyOf, privileges...)
}

// CheckModify demands the right to change the access control of a path.
func (s *Service) CheckModify(identity, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.CheckModify(identity, path)
}
