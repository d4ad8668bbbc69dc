package versions

import (
	"cmp"
	"fmt"

	"github.com/blang/semver/v4"
)

// Version is a release of Talos or Kubernetes. The zero Version means none.
type Version struct{ number semver.Version }

// Parse reads v1.12.4. The leading v is required, as in the names of the releases.
func Parse(text string) (Version, error) {
	if text == "" || text[0] != 'v' {
		return Version{}, fmt.Errorf("%q is not a version: write one like v1.12.4", text)
	}
	number, err := semver.Parse(text[1:])
	if err != nil {
		return Version{}, fmt.Errorf("%q is not a version: write one like v1.12.4", text)
	}
	return Version{number}, nil
}

// must reads a version of a table.
func must(text string) Version {
	version, err := Parse(text)
	if err != nil {
		panic(err)
	}
	return version
}

// String returns v1.12.4.
func (v Version) String() string { return "v" + v.number.String() }

// IsZero reports whether there is no version.
func (v Version) IsZero() bool { return v.number.Equals(semver.Version{}) }

// Minor returns the minor release that the version belongs to.
func (v Version) Minor() Minor { return Minor{Major: v.number.Major, Minor: v.number.Minor} }

// Compare orders versions as semantic versioning does: negative when v is the older one.
func (v Version) Compare(other Version) int { return v.number.Compare(other.number) }

// MarshalText implements [encoding.TextMarshaler].
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Minor is a minor release, such as v1.12. The zero Minor means none.
type Minor struct{ Major, Minor uint64 }

// String returns v1.12.
func (m Minor) String() string { return fmt.Sprintf("v%d.%d", m.Major, m.Minor) }

// MarshalText implements [encoding.TextMarshaler].
func (m Minor) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Compare returns a negative number if m is older.
func (m Minor) Compare(other Minor) int {
	return cmp.Or(cmp.Compare(m.Major, other.Major), cmp.Compare(m.Minor, other.Minor))
}

// Next returns the minor release after this one.
func (m Minor) Next() Minor { return Minor{Major: m.Major, Minor: m.Minor + 1} }

// first returns the first release of a minor.
func (m Minor) first() Version {
	return Version{semver.Version{Major: m.Major, Minor: m.Minor}}
}

// Range is a range of minor releases, both ends included. The zero Range is empty.
type Range struct {
	// First is the oldest of them.
	First Minor `json:"first"`
	// Last is the newest of them.
	Last Minor `json:"last"`
}

// Holds reports whether a minor release is in the range.
func (r Range) Holds(m Minor) bool {
	return r != Range{} && m.Compare(r.First) >= 0 && m.Compare(r.Last) <= 0
}

// Side returns on which side of the range a minor release is, in words.
func (r Range) Side(m Minor) string {
	if m.Compare(r.First) < 0 {
		return "too old"
	}
	return "too new"
}

// String returns v1.30 to v1.35.
func (r Range) String() string { return r.First.String() + " to " + r.Last.String() }

// extended returns the range with one more minor release at its end.
func (r Range) extended(m Minor) Range {
	if r == (Range{}) {
		r.First = m
	}
	r.Last = m
	return r
}
