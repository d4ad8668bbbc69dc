package role

import (
	"fmt"
	"regexp"
	"strconv"
)

// Release is a release of Proxmox VE.
type Release struct{ Major, Minor int }

var releaseText = regexp.MustCompile(`^(\d{1,3})\.(\d{1,3})(?:[.~-].*)?$`)

// ParseRelease reads 8.4, and 8.4.1 as the host says it. The error says what a release looks like.
func ParseRelease(text string) (Release, error) {
	parts := releaseText.FindStringSubmatch(text)
	if parts == nil {
		return Release{}, fmt.Errorf("%q is no release of Proxmox VE: write one like 8.4", text)
	}
	major, _ := strconv.Atoi(parts[1]) // three digits fit
	minor, _ := strconv.Atoi(parts[2])
	return Release{Major: major, Minor: minor}, nil
}

// The releases of Proxmox VE that this project is made for, from First until before End: bridges ask for SDN.Use since 8, and what
// comes after 9 is not known yet.
var (
	First = Release{Major: 8}
	End   = Release{Major: 10}
)

// UpgradeHost is what to do about a release before [First].
const UpgradeHost = "upgrade the host to Proxmox VE 8.4 or 9"

// Check refuses a release that is too old for this project. What comes after those that are known is let pass.
func (r Release) Check() error {
	if r.Before(First) {
		return fmt.Errorf("Proxmox VE %s is too old: %s", r, UpgradeHost) //nolint:staticcheck // a name
	}
	return nil
}

// String returns the release as Proxmox VE writes it: 8.4.
func (r Release) String() string { return fmt.Sprintf("%d.%d", r.Major, r.Minor) }

// Before reports whether r is the older release.
func (r Release) Before(other Release) bool {
	return r.Major < other.Major || r.Major == other.Major && r.Minor < other.Minor
}
