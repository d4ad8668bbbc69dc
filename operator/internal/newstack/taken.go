package newstack

import (
	"net/netip"
	"strconv"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// taken is what others have: guests on the hosts, the hosts themselves, and other stacks of the project, whether they run or not.
type taken struct {
	vmids     map[int]bool
	addresses map[netip.Addr]bool
	names     map[string]string // of machines: whose
	clusters  map[string]string // the stack
	devices   map[device]string // the stack
	mappings  map[string]string // the stack
}

// device is a PCI device of a host.
type device struct{ host, address string }

func (s Site) taken() taken {
	t := taken{
		vmids: map[int]bool{}, addresses: map[netip.Addr]bool{}, names: map[string]string{}, clusters: map[string]string{},
		devices: map[device]string{}, mappings: map[string]string{},
	}
	for _, guest := range s.Found.Guests.Value {
		t.vmids[guest.VMID] = true
		t.names[guest.Name] = preflight.Described(guest)
	}
	for address := range s.Found.Addresses() {
		t.addresses[address] = true
	}
	for _, beside := range s.Beside {
		if cluster, isCluster := beside.Inventory.(*inventory.Inventory); isCluster {
			t.add(beside.Stack, cluster)
			continue
		}
		t.addClaims(beside)
	}
	return t
}

// gpuOf returns the stack that has a device.
func (t taken) gpuOf(gpu preflight.FreeGPU) (stack string, is bool) {
	if stack, is = t.devices[device{gpu.Host, gpu.Device.Address}]; !is && gpu.Mapping != "" {
		stack, is = t.mappings[gpu.Mapping]
	}
	return stack, is
}

// addClaims adds the claims of a stack that is no cluster.
func (t taken) addClaims(beside inventory.Beside) {
	for _, claim := range beside.Inventory.Claims() {
		value := claim.ID.Value
		switch claim.ID.Kind {
		case inventory.ClaimedName:
			t.names[value] = "a system of stack " + beside.Stack
		case inventory.ClaimedVMID:
			if vmid, err := strconv.Atoi(value); err == nil {
				t.vmids[vmid] = true
			}
		case inventory.ClaimedAddress:
			if address, err := netip.ParseAddr(value); err == nil {
				t.addresses[address] = true
			}
		}
	}
}

// add takes what the stack of another cluster has in its inventory.
func (t taken) add(stack string, inv *inventory.Inventory) {
	t.clusters[inv.Cluster.Name] = stack
	for _, host := range inv.TemplateHosts() {
		t.vmids[inv.Cluster.TemplateVMID(host)] = true
	}
	t.addresses[inv.Cluster.Kubernetes.Endpoint.VIP] = true
	for _, node := range inv.Nodes {
		t.vmids[node.VMID], t.addresses[node.Address] = true, true
		t.names[node.Name] = "a node of stack " + stack
		for _, card := range node.NICs {
			t.addresses[card.Address.Addr()] = true
		}
		for _, gpu := range node.GPUs {
			if gpu.Mapping != "" {
				t.mappings[gpu.Mapping] = stack
				continue
			}
			t.devices[device{node.Host, string(gpu.BDF)}] = stack
		}
	}
}
