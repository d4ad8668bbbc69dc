package newstack

import (
	"fmt"
	"strings"
)

// Describe returns what the hosts that are online have, a line for each, and the pools of the NAS, as a person chooses from it.
func (s Site) Describe(talos string) []string {
	var lines []string
	for _, name := range s.Found.OnlineHosts() {
		host := s.Found.Hosts[name]
		parts := []string{fmt.Sprintf("%s: %d threads, %d GiB of memory", name, host.Capacity.Value.Threads, host.Capacity.Value.MemoryBytes>>30)}
		for _, storage := range host.Storages.Value {
			if !storage.Active {
				continue
			}
			parts = append(parts, fmt.Sprintf("storage %s (%s) with %d GiB free", storage.Name, strings.ReplaceAll(storage.Content, ",", ", "), storage.AvailableBytes>>30))
		}
		for _, bridge := range host.Bridges.Value {
			part := "bridge " + bridge.Name
			if tags := s.Found.VLANs(bridge.Name); len(tags) > 0 {
				part += " with the VLANs " + strings.Join(tags, ", ")
			}
			parts = append(parts, part)
		}
		free, _ := s.Found.FreeGPUs(name, talos)
		for _, gpu := range free {
			parts = append(parts, fmt.Sprintf("GPU %s (%s) in IOMMU group %d", gpu.Device.DeviceName, gpu.Device.Address, gpu.Device.IOMMUGroup))
		}
		lines = append(lines, strings.Join(parts, "; "))
	}
	if len(s.Pools) > 0 {
		lines = append(lines, "NAS: pools "+strings.Join(s.Pools, ", "))
	}
	return lines
}
