package proxmox

import (
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"strings"
)

// certify remembers the certificate that is shown.
func (s *Server) certify(certificate tls.Certificate) {
	if len(certificate.Certificate) == 0 {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.served = certificate.Certificate[0]
}

// fingerprintOf is what a node says of its certificate (pve-cluster PVE/Certificate.pm, get_certificate_fingerprint). Each
// has its own. Only the first can be connected to; the others' are those of certificates that nobody ever sees.
func (s *Server) fingerprintOf(node string) string {
	certificate := s.served
	if node != s.hosts()[0].Name {
		certificate = fmt.Appendf(nil, "%x certificate of %s", s.config.Seed, node)
	}

	if certificate == nil {
		return ""
	}

	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(certificate)), " ", ":")
}
