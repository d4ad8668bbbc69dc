package risk

import (
	"regexp"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
)

// Reboots reports whether the provider reboots a virtual machine, or stops and starts it, for an update of its inputs: the
// table that a preview is told by, for the run itself.
func Reboots(before, after resource.PropertyMap) bool {
	return slices.ContainsFunc(plan.Differences("", before.Mappable(), after.Mappable()), rebootsFor)
}

// IsNote reports whether an update changes nothing but what Proxmox VE notes of a machine, which the machine never sees.
func IsNote(before, after resource.PropertyMap) bool {
	paths := plan.Differences("", before.Mappable(), after.Mappable())
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path string) bool { return !notes.MatchString(path) })
}

// notes are also the limits of disks, which the provider fills in with zeros at each update and never reads back (F22).
var notes = regexp.MustCompile(`^(description|tags(\[\d+\])?|disks\[\d+\]\.speed)$`)
