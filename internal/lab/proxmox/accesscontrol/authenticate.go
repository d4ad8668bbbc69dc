package accesscontrol

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Error texts of a refused login (pve-manager HTTPServer.pm, auth_handler).
var (
	errNoTicket = errors.New("No ticket")
	// ErrAuthentication is returned for a caller with invalid credentials.
	ErrAuthentication = errors.New("Authentication failed!")
)

// tokenHeader matches the token in an Authorization header (pve-http-server Formatter.pm, extract_auth_value).
var tokenHeader = regexp.MustCompile(`(?:^|\s)PVEAPIToken(?:=| )([^;]*)`)

// Authenticate returns the caller's identity, from a token or from the ticket of a session.
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
		// Proxmox VE writes the reason to its log only.
		s.env.Note("authentication failure", err)
		return "", ErrAuthentication
	}

	return identity, nil
}

// Evaluate checks a method's permission rule for an identity and the parameters of the request. Its errors wrap
// [access.ErrPermission].
func (s *Service) Evaluate(rule schema.Rule, identity string, params schema.Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.Evaluate(rule, identity, params)
}

// Check requires all privileges on a path, or with anyOf at least one. Its error is an [access.Refusal].
func (s *Service) Check(identity, path string, anyOf bool, privileges ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.Check(identity, path, anyOf, privileges...)
}

// Allowed reports whether Check succeeds.
func (s *Service) Allowed(identity, path string, privileges ...string) bool {
	return s.Check(identity, path, false, privileges...) == nil
}

// CheckVM requires privileges on a VM. They may also come from its pool, or from the pool that it is about to join.
func (s *Service) CheckVM(identity string, vmid int, pool string, anyOf bool, privileges ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.CheckVM(identity, vmid, pool, anyOf, privileges...)
}

// CheckModify requires the privilege to change the access control of a path.
func (s *Service) CheckModify(identity, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.db.CheckModify(identity, path)
}
