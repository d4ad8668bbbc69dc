package machineupdate

import "regexp"

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

// OfContainer is [OfVirtualMachine] for a container.
func OfContainer(path string, before, after map[string]any) (c Change, isInput bool) {
	return changeOf(container, path, before, after)
}
