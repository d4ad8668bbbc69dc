package drift

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/pve"
)

// OverlookedInContainer returns the properties of a container that differ from the state but that the provider does not read back: whether it
// starts with its host, and nesting (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/container/container.go, containerRead sets
// neither). The values are the host's.
func OverlookedInContainer(inputs map[string]any, config pve.GuestConfig) map[string]any {
	have := map[string]any{}
	if starts := config["onboot"] == "1"; starts != isTrue(inputs, "startOnBoot") {
		have["startOnBoot"] = starts
	}
	if nests := hasFeature(config["features"], "nesting=1"); nests != isTrue(inputs, "features.nesting") {
		have["features"] = map[string]any{"nesting": nests}
	}
	return have
}

func isTrue(inputs map[string]any, path string) bool {
	value, isBool := propertymap.At(inputs, path).(bool)
	return isBool && value
}

// hasFeature reports whether the setting features, as in keyctl=1,nesting=1, has one (pve-container, LXC/Config.pm, $features_desc).
func hasFeature(setting, feature string) bool {
	return slices.Contains(strings.Split(setting, ","), feature)
}
