package risk

import (
	"regexp"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

// Reboots reports whether the provider reboots a virtual machine, or stops and starts it, for an update of its inputs. It uses
// the same table as a preview.
func Reboots(before, after resource.PropertyMap) bool {
	return slices.ContainsFunc(plan.Differences("", before.Mappable(), after.Mappable()), rebootsFor)
}

// IsNote reports whether an update changes only what Proxmox VE records about a machine, which the machine never sees.
func IsNote(before, after resource.PropertyMap) bool {
	paths := plan.Differences("", before.Mappable(), after.Mappable())
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path string) bool { return !notes.MatchString(path) })
}

// notes include the limits of disks, which the provider sets to zero at each update and never reads back (F22).
var notes = regexp.MustCompile(`^(description|tags(\[\d+\])?|disks\[\d+\]\.speed)$`)
