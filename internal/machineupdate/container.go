package machineupdate

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// container has the properties of a container and what a change of each does in the provider (bpg/terraform-provider-proxmox v0.73.0,
// proxmoxtf/resource/container/container.go, containerUpdate: rebootRequired). The first match counts; a property without a row reboots.
var container = []property{
	{path: regexp.MustCompile(`^memory\.dedicated$`), label: "memory", unit: "MiB", key: "memoryMiB", effect: Reboot},
	{path: regexp.MustCompile(`^memory\.swap$`), label: "swap", unit: "MiB", key: "swapMiB", effect: Reboot},
	{path: regexp.MustCompile(`^cpu\.cores$`), label: "cores", key: "cores", effect: Reboot},
	{path: regexp.MustCompile(`^cpu`), label: "CPU", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.hostname$`), label: "name", key: "name", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.dns`), label: "DNS", key: "nameservers", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.ipConfigs\[\d+\]\.ipv[46]\.address$`), label: "address", key: "address", effect: Reboot},
	{path: regexp.MustCompile(`^initialization\.ipConfigs\[\d+\]\.ipv[46]\.gateway$`), label: "gateway", key: "gateway", effect: Reboot},
	{path: regexp.MustCompile(`^(initialization|networkInterfaces)`), label: "network cards", effect: Reboot},
	{path: regexp.MustCompile(`^operatingSystem\.type$`), label: "type of its system", key: "osType", effect: Reboot},
	{path: regexp.MustCompile(`^features`), label: "nesting, from its next start on", key: "nesting"},
	{path: regexp.MustCompile(`^tags`), label: "tags"},
	{path: regexp.MustCompile(`^description$`), label: "description"},
	{path: regexp.MustCompile(`^started$`), label: "switched on"},
	{path: regexp.MustCompile(`^startOnBoot$`), label: "start at boot"},
	{path: regexp.MustCompile(`^startup`), label: "startup order"},
	{path: regexp.MustCompile(`^protection$`), label: "protection"},
	{path: regexp.MustCompile(`^timeout\w*$`), label: "how the provider waits and stops"},
}

// OfContainer is [OfVirtualMachine] for a container. The provider switches nesting on, but never off: it sends a feature only if it is on, and
// deletes none (the same, containerGetFeatures and containerUpdate).
func OfContainer(path string, before, after map[string]any) (c Change, isInput bool) {
	c, isInput = changeOf(container, path, before, after)
	if strings.HasPrefix(path, "features") && nests(before) && !nests(after) {
		c.label = fmt.Sprintf("nesting, which the provider does not switch off: `pct set %v --delete features` on %v, then restart it",
			propertymap.At(after, "vmId"), propertymap.At(after, "nodeName"))
		c.path = "" // no "true → false" for a change that the provider does not make
	}
	return c, isInput
}

func nests(inputs map[string]any) bool { return propertymap.At(inputs, "features.nesting") == true }
