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
// (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/container/container.go, containerRead). The values are the host's. Nesting that is
// on is not among them: see [NestingOfContainer].
func OverlookedInContainer(inputs map[string]any, config pve.GuestConfig) map[string]any {
	if isTrue(inputs, "features.nesting") && !nests(config) {
		return map[string]any{"features": map[string]any{"nesting": false}}
	}
	return nil
}

// NestingOfContainer returns the difference of a container that has nesting but should not have it; false if there is none. The provider switches
// nesting on, but never off: it sends a feature only if it is on, and deletes none (the same, containerGetFeatures and containerUpdate). The
// difference contains the command that switches it off.
func NestingOfContainer(inputs map[string]any, guest pve.Guest, config pve.GuestConfig) (Difference, bool) {
	if isTrue(inputs, "features.nesting") || !nests(config) {
		return Difference{}, false
	}
	set := fmt.Sprintf("pct set %d --delete features", guest.VMID)
	if rest := slices.DeleteFunc(strings.Split(config["features"], ","), isNesting); len(rest) > 0 {
		set = fmt.Sprintf("pct set %d --features '%s'", guest.VMID, strings.Join(rest, ","))
	}
	return Difference{
		Subject: guest.Name, Property: "nesting", Want: "false",
		Have: fmt.Sprintf("true, which the provider does not switch off: `%s` on %s, then restart it", set, guest.Node),
	}, true
}

// StartOfContainer returns the difference of a container whose start with its host is not as in the state; false if there is none. The provider
// neither reads that setting nor changes it for an existing container (the same, containerUpdate), so the difference contains what sets it.
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

// nests reports whether the setting features of a container, as in keyctl=1,nesting=1, has nesting (pve-container, LXC/Config.pm,
// $features_desc).
func nests(config pve.GuestConfig) bool {
	return slices.ContainsFunc(strings.Split(config["features"], ","), isNesting)
}

func isNesting(feature string) bool { return feature == "nesting=1" }
