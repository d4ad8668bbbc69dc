package drift

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/pve"
)

// OverlookedInContainer returns the properties of a container that differ from the state but that the provider does not read back: nesting
// (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/container/container.go, containerRead). The values are the host's.
func OverlookedInContainer(inputs map[string]any, config pve.GuestConfig) map[string]any {
	if nests := hasFeature(config["features"], "nesting=1"); nests != isTrue(inputs, "features.nesting") {
		return map[string]any{"features": map[string]any{"nesting": nests}}
	}
	return nil
}

// StartOfContainer returns whether a container starts with its host, if that differs from the state. The provider neither reads it nor changes it
// of a container that is there (the same, containerUpdate), so the difference says what sets it.
func StartOfContainer(inputs map[string]any, guest pve.Guest, config pve.GuestConfig) (Difference, bool) {
	want, have := isTrue(inputs, "startOnBoot"), config["onboot"] == "1"
	if want == have {
		return Difference{}, false
	}
	set := "0"
	if want {
		set = "1"
	}
	return Difference{
		Subject: guest.Name, Property: "onBoot", Want: strconv.FormatBool(want),
		Have: fmt.Sprintf("%t, which the provider does not change: `pct set %d --onboot %s` on %s", have, guest.VMID, set, guest.Node),
	}, true
}

func isTrue(inputs map[string]any, path string) bool {
	value, isBool := propertymap.At(inputs, path).(bool)
	return isBool && value
}

// hasFeature reports whether the setting features, as in keyctl=1,nesting=1, has one (pve-container, LXC/Config.pm, $features_desc).
func hasFeature(setting, feature string) bool {
	return slices.Contains(strings.Split(setting, ","), feature)
}
