package role

import (
	"fmt"
	"regexp"
	"strconv"
)

// Release is a release of Proxmox VE.
type Release struct{ Major, Minor int }

var releaseText = regexp.MustCompile(`^(\d{1,3})\.(\d{1,3})(?:[.~-].*)?$`)

// ParseRelease reads 8.4, or 8.4.1 as the host reports it. The error describes the form of a release.
func ParseRelease(text string) (Release, error) {
	parts := releaseText.FindStringSubmatch(text)
	if parts == nil {
		return Release{}, fmt.Errorf("%q is no release of Proxmox VE: write one like 8.4", text)
	}
	major, _ := strconv.Atoi(parts[1]) // three digits fit
	minor, _ := strconv.Atoi(parts[2])
	return Release{Major: major, Minor: minor}, nil
}

// The releases of Proxmox VE that this project supports, from First until before End: bridges require SDN.Use since 8, and
// releases after 9 are unknown.
var (
	First = Release{Major: 8}
	End   = Release{Major: 10}
)

// UpgradeHost is the remedy for a release before [First].
const UpgradeHost = "upgrade the host to Proxmox VE 8.4 or 9"

// Check refuses a release that is too old for this project. It accepts releases that are newer than the known ones.
func (r Release) Check() error {
	if r.Before(First) {
		return fmt.Errorf("Proxmox VE %s is too old: %s", r, UpgradeHost) //nolint:staticcheck // a name
	}
	return nil
}

// String returns the release as Proxmox VE writes it: 8.4.
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Before reports whether r is older.
func (r Release) Before(other Release) bool {
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}
