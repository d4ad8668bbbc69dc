package inventory

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/versions"
)

// Version is a semantic version, written with a leading v. The zero Version means none.
type Version struct{ versions.Version }

// Contract returns the version's major.minor.
func (v Version) Contract() Contract { return Contract(v.Minor()) }

// Compare orders versions as semantic versioning does: negative when v is the older one.
func (v Version) Compare(other Version) int { return v.Version.Compare(other.Version) }

// KubernetesVersion is a version of Kubernetes, for the example in its errors.
type KubernetesVersion struct{ Version }

// UnmarshalText reads v1.35.4.
func (v *KubernetesVersion) UnmarshalText(text []byte) error { return v.read(text, "v1.35.4") }

// UnmarshalText reads v1.12.4. The leading v is required, as in the names of releases of Talos and Kubernetes.
func (v *Version) UnmarshalText(text []byte) error { return v.read(text, "v1.12.4") }

func (v *Version) read(text []byte, example string) error {
	fault := &strictyaml.Fault{What: "is not a version", Rule: "vMAJOR.MINOR.PATCH", Do: "write one like " + example}
	if len(text) == 0 || text[0] != 'v' {
		if bare, err := versions.Parse("v" + string(text)); err == nil {
			fault.Do = fmt.Sprintf("did you mean %s?", bare)
		}
		return fault
	}
	parsed, err := versions.Parse(string(text))
	if err != nil {
		return fault
	}
	v.Version = parsed
	return nil
}

// Contract is the major and minor number of the Talos version whose configuration format and defaults a cluster was created
// with. The zero Contract means none.
type Contract struct{ Major, Minor uint64 }

// String returns the contract as it is written in the inventory: v1.12.
func (c Contract) String() string { return versions.Minor(c).String() }

// IsZero reports whether there is no contract.
func (c Contract) IsZero() bool { return c == Contract{} }

// Compare returns a negative number if c is older.
func (c Contract) Compare(other Contract) int {
	return versions.Minor(c).Compare(versions.Minor(other))
}

// MarshalText implements [encoding.TextMarshaler].
func (c Contract) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

var contractText = regexp.MustCompile(`^v(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$`)

// UnmarshalText reads v1.12.
func (c *Contract) UnmarshalText(text []byte) error {
	parts := contractText.FindSubmatch(text)
	if parts == nil {
		fault := &strictyaml.Fault{What: "is not a contract", Rule: "vMAJOR.MINOR", Do: "write one like v1.12"}
		var version Version
		if version.UnmarshalText(text) == nil {
			fault.Do = fmt.Sprintf("did you mean %s?", version.Contract())
		} else if contractText.MatchString("v" + string(text)) {
			fault.Do = fmt.Sprintf("did you mean v%s?", text)
		}
		return fault
	}
	var err error
	if c.Major, err = strconv.ParseUint(string(parts[1]), 10, 64); err != nil {
		return err
	}
	c.Minor, err = strconv.ParseUint(string(parts[2]), 10, 64)
	return err
}
