package machineupdate

import (
	"regexp"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Reboots reports whether the provider reboots a virtual machine, or stops and starts it, for an update of its inputs.
func Reboots(before, after resource.PropertyMap) bool {
	was, wanted := before.Mappable(), after.Mappable()
	return slices.ContainsFunc(plan.Differences("", was, wanted), func(path string) bool {
		change, isInput := changeOf(virtualMachine, path, was, wanted)
		return isInput && change.Effect() == Reboot
	})
}

// SwitchesOn reports whether a machine is off before an update of its inputs and on after it.
func SwitchesOn(before, after map[string]any) bool {
	return propertymap.At(before, "started") == false && propertymap.At(after, "started") == true
}

// IsNote reports whether an update changes only what Proxmox VE records about a machine, which the machine never sees.
func IsNote(before, after resource.PropertyMap) bool {
	paths := plan.Differences("", before.Mappable(), after.Mappable())
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(path string) bool { return !notes.MatchString(path) })
}

// notes include the limits of disks, which the provider sets to zero at each update and never reads back (F22).
var notes = regexp.MustCompile(`^(description|tags(\[\d+\])?|disks\[\d+\]\.speed)$`)
