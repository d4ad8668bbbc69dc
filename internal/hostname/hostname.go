// Package hostname is the one rule for the host in a URL or a setting: an IP address or a DNS name.
package hostname

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"
)

// IsHost reports whether the text is an IP address without a zone, or a DNS name. Four numbers with dots are not a DNS name.
func IsHost(text string) bool {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Zone() == ""
	}
	if text == "" || text[len(text)-1] >= '0' && text[len(text)-1] <= '9' {
		return false
	}
	return len(validation.IsDNS1123Subdomain(text)) == 0
}
