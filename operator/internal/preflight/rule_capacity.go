package preflight

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
)

// fullPercent is the share of memory above which a host has too little left for itself and its storage cache. Memory is never
// committed twice, because the nodes have no balloon device.
const fullPercent = 90

func checkMemory(s *collector, inv *inventory.Inventory, found Snapshot) {
	for _, name := range onlineHosts(inv, found) {
		capacity := found.Hosts[name].Capacity
		if capacity.Err != nil {
			s.unread("memory", "the memory of "+name, capacity.Err)
			continue
		}
		total := capacity.Value.MemoryBytes >> 20
		committed := committedMiB(inv, found, name)
		share := fmt.Sprintf("%.0f %% committed (%.1f of %.1f GiB)", 100*float64(committed)/float64(max(total, 1)), gib(committed), gib(total))
		const remedy = "set memoryMiB lower, put nodes on another host, or stop other VMs"
		switch {
		case committed > total:
			s.fail("memory", remedy, "memory of %s would be %s", name, share)
		case committed*100 > total*fullPercent:
			s.warn("memory", remedy, "memory of %s would be %s", name, share)
		default:
			s.ok("memory", "memory of %s would be %s", name, share)
		}
	}
}

// committedMiB returns the memory of a host's nodes and of the other guests that run there.
func committedMiB(inv *inventory.Inventory, found Snapshot, host string) uint64 {
	var sum uint64
	for _, node := range inv.Nodes.OnHost(host) {
		sum += uint64(node.MemoryMiB)
	}
	for _, guest := range strangers(inv, found) {
		if guest.Node == host && guest.Status == "running" {
			sum += guest.MemoryBytes >> 20
		}
	}
	return sum
}

func gib(mib uint64) float64 { return float64(mib) / 1024 }

// sharedThreads is the number of VM cores per thread of the host. More than one is normal, since VMs rarely use all cores at once,
// but with too many etcd becomes slow.
const sharedThreads = 3

func checkCores(s *collector, inv *inventory.Inventory, found Snapshot) {
	for _, name := range onlineHosts(inv, found) {
		capacity := found.Hosts[name].Capacity
		if capacity.Err != nil {
			continue // reported by checkMemory
		}
		mark := len(s.checks)
		threads, sum := capacity.Value.Threads, 0
		for _, node := range inv.Nodes.OnHost(name) {
			cores := node.Sockets * node.Cores
			sum += cores
			// qemu-server refuses to start it: "MAX %d vcpus allowed per VM on this node" (QemuServer.pm, config_to_command).
			if cores > threads {
				s.fail("cores", fmt.Sprintf("set cores to %d or less", threads), "%s has %d cores, and %s only %d threads: it would not start", node.Name, cores, name, threads)
			}
		}
		switch {
		case sum > sharedThreads*threads:
			s.warn("cores", "set cores lower, or put nodes on another host", "the nodes on %s have %d cores together, on %d threads", name, sum, threads)
		case s.sound(mark):
			s.ok("cores", "the nodes on %s have %d cores, the host %d threads", name, sum, threads)
		}
	}
}
