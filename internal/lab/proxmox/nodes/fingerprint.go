package nodes

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Show remembers the certificate that the first host shows, in DER.
func (s *Service) Show(certificate []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.shown = certificate
}

// fingerprintOf is what a node says of its certificate (pve-cluster PVE/Certificate.pm, get_certificate_fingerprint). Each
// has its own. Only the first can be connected to; the others' are those of certificates that nobody ever sees.
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
