package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/graph"
)

// Graph draws the inventory of the stack, of any kind, as an SVG that follows the reader's choice of light or dark. If there are credentials
// of its cluster, it also asks each node whether it answers.
func (o *Operator) Graph(ctx context.Context) ([]byte, error) {
	drawn, err := o.picture(ctx)
	if err != nil {
		return nil, err
	}
	return graph.SVG(drawn), nil
}

// picture returns the picture of the stack's inventory, with the health of nodes that can be asked.
func (o *Operator) picture(ctx context.Context) (graph.Drawn, error) {
	content, err := o.Content()
	if err != nil {
		return nil, refused(err)
	}
	inv, isPlatform := content.(*inventory.Inventory)
	if !isPlatform {
		return o.pictureUnasked(content)
	}
	if inv, err = o.inLab(inv); err != nil {
		return nil, err
	}
	talosconfig, err := os.ReadFile(o.credentials().talosconfig())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return pictured(inv, askNodes(ctx, inv.Nodes, talosconfig)), nil
}

// pictureUnasked returns the picture of an inventory of any kind, as if neither nodes nor hosts were asked. A rehearsal shows the addresses of its lab.
func (o *Operator) pictureUnasked(content Content) (graph.Drawn, error) {
	switch content := content.(type) {
	case layer:
		return unasked(content), nil
	case *inventory.Inventory:
		inv, err := o.inLab(content)
		if err != nil {
			return nil, err
		}
		return unasked(inv), nil
	default:
		return nil, errOtherContent(content)
	}
}

// unasked returns the picture of an inventory of any kind with its own addresses, as if nothing was asked.
func unasked(content Content) graph.Drawn {
	if inv, isPlatform := content.(*inventory.Inventory); isPlatform {
		return pictured(inv, make([]graph.Health, len(inv.Nodes)))
	}
	return content.(layer).picture(StatusReport{})
}

// inLab returns the inventory with the lab's addresses if this is a rehearsal with a lab, else unchanged.
func (o *Operator) inLab(inv *inventory.Inventory) (*inventory.Inventory, error) {
	if !o.workspace.Rehearsed {
		return inv, nil
	}
	host, found, err := o.options.Lab.Find(o.site())
	if err != nil || !found {
		return inv, err
	}
	return o.moveTo(host, inv)
}

// askNodes asks all nodes concurrently whether they answer under the cluster's PKI. Without a talosconfig it asks none.
func askNodes(ctx context.Context, nodes inventory.Nodes, talosconfig []byte) []graph.Health {
	healths := make([]graph.Health, len(nodes))
	if len(talosconfig) == 0 {
		return healths
	}
	var asking sync.WaitGroup
	for i, node := range nodes {
		asking.Go(func() {
			healths[i] = graph.Unhealthy
			if nodeops.IsAlive(ctx, talosconfig, node.Address.String()) {
				healths[i] = graph.Healthy
			}
		})
	}
	asking.Wait()
	return healths
}

// pictured converts the inventory into the picture's types.
func pictured(inv *inventory.Inventory, healths []graph.Health) graph.Cluster {
	c := inv.Cluster
	picture := graph.Cluster{
		Name: c.Name, Endpoint: c.EndpointURL().String(),
		Versions: []string{"Talos " + c.Talos.Version.String(), "Kubernetes " + c.Kubernetes.Version.String()},
	}
	for _, host := range inv.Nodes.Hosts() {
		drawn := graph.Host{Name: host}
		for i, node := range inv.Nodes {
			if node.Host == host {
				drawn.Nodes = append(drawn.Nodes, picturedNode(node, healths[i]))
			}
		}
		picture.Hosts = append(picture.Hosts, drawn)
	}
	if c.Storage != nil {
		picture.NAS = picturedNAS(*c.Storage)
	}
	return picture
}

func picturedNode(n inventory.Node, health graph.Health) graph.Node {
	drawn := graph.Node{
		Name: n.Name, Role: picturedRole(n.Role), VMID: n.VMID, Addresses: []netip.Addr{n.Address},
		Cores: n.Cores * n.Sockets, MemoryMiB: n.MemoryMiB, DiskGiB: n.DiskGiB, Health: health,
	}
	if n.Address6.IsValid() {
		drawn.Addresses = append(drawn.Addresses, n.Address6)
	}
	for _, gpu := range n.GPUs {
		name := gpu.Mapping
		if name == "" {
			name = fmt.Sprintf("%s (%s)", gpu.BDF, gpu.DeviceID)
		}
		drawn.GPUs = append(drawn.GPUs, name)
	}
	return drawn
}

func picturedRole(r inventory.Role) graph.Role {
	switch r {
	case inventory.RoleControlPlane:
		return graph.ControlPlane
	case inventory.RoleGPUWorker:
		return graph.GPUWorker
	default:
		return graph.Worker
	}
}
