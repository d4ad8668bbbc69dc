package preflight

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve"
)

// lookPaths are the paths of the access control below which everything is that an inventory needs.
var lookPaths = []string{"/", "/nodes", "/storage", "/vms"}

// Look reads the facts about all hosts that are online, for an inventory that is not written yet: those about the Image Factory are
// missing. The snapshot contains the errors of reading; the error is the context's.
func Look(ctx context.Context, host pve.Connection) (Snapshot, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	g := newGatherer(Subject{Host: host}, lookPaths)
	if g.reach(bounded) {
		g.cluster(bounded)
		g.wait()
		for _, node := range g.found.Nodes.Value {
			if g.isOnline(node.Name) {
				g.host(bounded, node.Name)
			}
		}
		g.configs(bounded)
		g.wait()
	}
	if ctx.Err() != nil {
		return Snapshot{}, context.Cause(ctx)
	}
	return g.found, nil
}

// OnlineHosts returns the names of the hosts that are online, sorted.
func (found Snapshot) OnlineHosts() []string {
	var names []string
	for _, node := range found.Nodes.Value {
		if found.status(node.Name) == online {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names
}

// MayRead reports whether the token has any privilege on what an inventory needs.
func (found Snapshot) MayRead() bool {
	for _, privileges := range found.Privileges {
		if privileges.Err != nil || len(privileges.Value) > 0 {
			return true
		}
	}
	return false
}

// Addresses returns the IP addresses in the configurations of guests and those of the hosts' bridges, each with the name of its owner.
func (found Snapshot) Addresses() map[netip.Addr]string {
	used := map[netip.Addr]string{}
	for _, guest := range found.Guests.Value {
		_, addresses := networkOf(found.Configs[guest.VMID].Value)
		for _, address := range addresses {
			used[address] = Described(guest)
		}
	}
	for _, name := range found.OnlineHosts() {
		for _, bridge := range found.Hosts[name].Bridges.Value {
			if own, err := netip.ParsePrefix(bridge.CIDR); err == nil {
				used[own.Addr()] = "host " + name
			}
		}
	}
	return used
}

// VLANs returns the VLAN tags that cards of guests on a bridge have, sorted.
func (found Snapshot) VLANs(bridge string) []string {
	var tags []string
	for _, config := range found.Configs {
		for key, value := range config.Value {
			options := strings.Split(value, ",")
			if !numbered(key, "net") || !slices.Contains(options, "bridge="+bridge) {
				continue
			}
			for _, option := range options {
				if tag, is := strings.CutPrefix(option, "tag="); is && !slices.Contains(tags, tag) {
					tags = append(tags, tag)
				}
			}
		}
	}
	slices.SortFunc(tags, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return tags
}

// FreeGPU is a device of a host that a GPU worker could have.
type FreeGPU struct {
	// Host that has it.
	Host string
	// Device is the device itself.
	Device pve.PCIDevice
	// Mapping is the name of a resource mapping that has this device of the host alone; empty if there is none.
	Mapping string
	// DeviceID and SubsystemID are vendor:device, as nodes.yaml has them.
	DeviceID, SubsystemID string
}

// FreeGPUs returns the devices of a host that could be passed through, by their addresses: an NVIDIA driver of this Talos version drives them, they
// are alone in their IOMMU group, and no guest has them. For each other GPU, reasons contains why it is not free.
func (found Snapshot) FreeGPUs(host, talos string) (free []FreeGPU, reasons []string) {
	g := gpuHost{collector: &collector{}, name: host, talos: talos, Host: found.Hosts[host], strangers: found.Guests.Value, configs: found.Configs}
	for _, device := range gpusOn(g.Devices.Value) {
		g.checks = nil
		_, driven := nvidia.Fitting([]nvidia.Generation{nvidia.GenerationOf(deviceID(device))}, talos)
		switch {
		case bare(device.Vendor) != nvidiaVendor || !driven:
			g.fail("driver", "take another GPU for GPU workers", "PCI %s on %s is %s %s, which no driver of Talos %s drives", device.Address, host, device.VendorName, device.DeviceName, talos)
		case device.IOMMUGroup < 0:
			g.fail("gpu", "turn on its IOMMU as docs/hosts.md (What no API can do) says", "PCI %s on %s is in no IOMMU group: the IOMMU is off", device.Address, host)
		default:
			g.free(device)
		}
		for _, check := range g.checks {
			reasons = append(reasons, check.Sentence+": "+check.Remedy)
		}
		if len(g.checks) == 0 {
			free = append(free, FreeGPU{Host: host, Device: device, Mapping: g.mappingOf(device), DeviceID: deviceID(device), SubsystemID: subsystemID(device)})
		}
	}
	return free, reasons
}

// mappingOf returns the sound mapping that has a device, and no other of its host.
func (g gpuHost) mappingOf(device pve.PCIDevice) string {
	for _, mapping := range g.Mappings.Value {
		isUnsound := slices.ContainsFunc(mapping.Checks, func(check pve.MappingCheck) bool { return check.Severity == "error" })
		if !isUnsound && slices.Equal(mappedOn(mapping, g.name), []string{device.Address}) {
			return mapping.ID
		}
	}
	return ""
}
