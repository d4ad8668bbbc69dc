package nodes

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Show sets the certificate of the first host, in DER.
func (s *Service) Show(certificate []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.shown = certificate
}

// fingerprintOf returns the fingerprint of a node's certificate (pve-cluster PVE/Certificate.pm,
// get_certificate_fingerprint). Each node has its own. Clients can only connect to the first one; the certificates of the
// others do not exist.
func (s *Service) fingerprintOf(node string) string {
	s.mu.Lock()
	certificate := s.shown
	s.mu.Unlock()

	if node != s.env.Nodes.First() {
		certificate = fmt.Appendf(nil, "%x certificate of %s", s.env.Seed, node)
	}

	if certificate == nil {
		return ""
	}

	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(certificate)), " ", ":")
}
