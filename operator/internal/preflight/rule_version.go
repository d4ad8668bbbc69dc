package preflight

import (
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve/role"
)

// unreachable adds the only finding about hosts that do not answer.
func unreachable(s *collector, err error) { s.refused("version", err) }

func checkVersion(s *collector, _ *inventory.Inventory, found Snapshot) {
	release, err := role.ParseRelease(found.Version.Value)
	switch {
	case err != nil:
		s.warn("version", "see that the endpoint is that of Proxmox VE", "%s says that it is Proxmox VE %q", found.Endpoint, found.Version.Value)
	case release.Check() != nil:
		s.fail("version", role.UpgradeHost, "Proxmox VE %s at %s is too old", found.Version.Value, found.Endpoint)
	case !release.Before(role.End):
		s.warn("version", "rehearse first, and look for a newer em-infra", "Proxmox VE %s at %s is newer than this program knows", found.Version.Value, found.Endpoint)
	default:
		s.ok("version", "Proxmox VE %s answers at %s (%s)", found.Version.Value, found.Endpoint, found.Took.Round(time.Millisecond))
	}
}
