package preflight

import (
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// The releases of Proxmox VE that this project is made for: bridges ask for SDN.Use since 8, and what comes after 9 is not
// known yet.
var (
	firstRelease = role.Release{Major: 8}
	endReleases  = role.Release{Major: 10}
)

const upgradeHost = "upgrade the host to Proxmox VE 8.4 or 9"

// CheckRelease refuses a release that is too old for this project. What comes after those that are known is let pass.
func CheckRelease(release role.Release) error {
	if release.Before(firstRelease) {
		return fmt.Errorf("Proxmox VE %s is too old: %s", release, upgradeHost) //nolint:staticcheck // a name
	}
	return nil
}

// unreachable is the only finding about a host that does not answer. What to do is after the last colon.
func unreachable(s *collector, err error) {
	sentence, remedy := err.Error(), ""
	if at := strings.LastIndex(sentence, ": "); at >= 0 {
		sentence, remedy = sentence[:at], sentence[at+2:]
	}
	s.fail("version", remedy, "%s", sentence)
}

func checkVersion(s *collector, _ *inventory.Inventory, found Snapshot) {
	release, err := role.ParseRelease(found.Version.Value)
	switch {
	case err != nil:
		s.warn("version", "see that the endpoint is that of Proxmox VE", "%s says that it is Proxmox VE %q", found.Endpoint, found.Version.Value)
	case CheckRelease(release) != nil:
		s.fail("version", upgradeHost, "Proxmox VE %s at %s is too old", found.Version.Value, found.Endpoint)
	case !release.Before(endReleases):
		s.warn("version", "rehearse first, and look for a newer em-infra", "Proxmox VE %s at %s is newer than this program knows", found.Version.Value, found.Endpoint)
	default:
		s.ok("version", "Proxmox VE %s answers at %s (%s)", found.Version.Value, found.Endpoint, found.Took.Round(time.Millisecond))
	}
}
