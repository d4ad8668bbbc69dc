package risk

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// SwitchesOn reports whether a machine is off before an update of its inputs and on after it.
func SwitchesOn(before, after resource.PropertyMap) bool {
	return switchesOn(before.Mappable(), after.Mappable())
}

func switchesOn(before, after map[string]any) bool {
	return propertymap.At(before, "started") == false && propertymap.At(after, "started") == true
}

// rebootsFor reports whether the provider reboots a machine for a change of a property.
func rebootsFor(path string) bool {
	return !computed.MatchString(path) && propertyAt(path).effect == Reboot
}
