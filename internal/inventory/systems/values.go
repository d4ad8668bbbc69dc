package systems

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Address is the address of a network card: an address with the length of its subnet, or one by DHCP. The zero value is an address that the file does
// not have: that of a machine that is installed from an ISO.
type Address struct {
	netip.Prefix

	// DHCP reports whether it is given by DHCP.
	DHCP bool
}

// byDHCP is how an address by DHCP is written.
const byDHCP = "dhcp"

// IsStatic reports whether the address is written here, and not given by DHCP.
func (a Address) IsStatic() bool { return a.IsValid() }

// String returns the address, dhcp, or "" for none.
func (a Address) String() string {
	switch {
	case a.IsStatic():
		return a.Prefix.String()
	case a.DHCP:
		return byDHCP
	default:
		return ""
	}
}

// MarshalText implements [encoding.TextMarshaler].
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an address with the length of its subnet, or dhcp.
func (a *Address) UnmarshalText(text []byte) error {
	if string(text) == byDHCP {
		*a = Address{DHCP: true}
		return nil
	}
	prefix, err := netip.ParsePrefix(string(text))
	if err != nil || prefix.Addr().Is4In6() {
		return &strictyaml.Fault{What: "is no address", Rule: "an address with the length of its subnet, or dhcp", Do: "write one like 192.168.20.5/24"}
	}
	*a = Address{Prefix: prefix}
	return nil
}

// URL is the address of a file, http or https.
type URL struct{ url.URL }

// MarshalText implements [encoding.TextMarshaler].
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads a URL without a user: a password in it would be in the state, and in the host's log of tasks.
func (u *URL) UnmarshalText(text []byte) error {
	read, err := url.Parse(string(text))
	if err != nil || read.Scheme != "https" && read.Scheme != "http" || read.Host == "" || strings.HasSuffix(read.Path, "/") || read.Path == "" {
		return &strictyaml.Fault{What: "is no URL of a file", Rule: "http or https", Do: "write one like https://cloud.debian.org/images/cloud/…/debian-13-genericcloud-amd64.qcow2"}
	}
	if read.User != nil {
		return &strictyaml.Fault{What: "has a user in it", Rule: "the host's log of tasks shows the URL", Got: read.Redacted(), Do: "offer the file without one"}
	}
	*u = URL{*read}
	return nil
}

// Checksum of a file: ALGORITHM:HEX.
type Checksum string

var checksumForm = regexp.MustCompile(`^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$`)

// MarshalText implements [encoding.TextMarshaler].
func (c Checksum) MarshalText() ([]byte, error) { return []byte(c), nil }

// UnmarshalText reads a checksum by SHA-256 or SHA-512.
func (c *Checksum) UnmarshalText(text []byte) error {
	if !checksumForm.Match(text) {
		return &strictyaml.Fault{
			What: "is no checksum", Rule: "sha256: with 64 digits or sha512: with 128, hexadecimal and in lower case",
			Do: "copy it from the publisher's list of checksums",
		}
	}
	*c = Checksum(text)
	return nil
}

// OSType is the type of the system in a container.
type OSType string

// UnmarshalText reads one of the types.
func (t *OSType) UnmarshalText(text []byte) error {
	if !slices.Contains(t.Choices(), string(text)) {
		fault := &strictyaml.Fault{What: "is unknown", Rule: "one of " + strings.Join(t.Choices(), ", "), Do: "choose one of them"}
		if near := strictyaml.Nearest(string(text), t.Choices()); near != "" {
			fault.Do = "did you mean " + near + "?"
		}
		return fault
	}
	*t = OSType(text)
	return nil
}

// Choices returns the types that Proxmox VE 8.4 and 9.1 know (pve-container, LXC/Config.pm).
func (OSType) Choices() []string {
	return []string{"alpine", "archlinux", "centos", "debian", "devuan", "fedora", "gentoo", "nixos", "opensuse", "ubuntu", "unmanaged"}
}

var errNoKey = errors.New("no key")

// checkKey returns an error if a text is not a public key in the form of authorized_keys: its type, and the key in base64, which repeats the type
// (RFC 4253, section 6.6).
func checkKey(text string) error {
	fields := strings.Fields(text)
	if len(fields) < 2 || strings.ContainsAny(text, "\n\r") {
		return errNoKey
	}
	key, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return err
	}
	const length = 4
	if len(key) < length || int(binary.BigEndian.Uint32(key)) > len(key)-length {
		return errNoKey
	}
	if string(key[length:length+binary.BigEndian.Uint32(key)]) != fields[0] {
		return errNoKey
	}
	return nil
}
