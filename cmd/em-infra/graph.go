package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/graph"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/workspace"
)

func newGraphCommand() *cobra.Command {
	var (
		flags stackFlags
		out   string
	)
	command := &cobra.Command{
		Use:   "graph --stack STACK",
		Short: "Draw the cluster: hosts, machines, roles, addresses, GPUs",
		Long: `Draw the cluster as the inventory describes it, as an SVG that follows the reader's choice of light or dark. Where a
cluster was brought up from here each node is asked whether it answers, and the picture shows that, too.`,
		Example: "  em-infra graph --stack k3s-dev --out k3s-dev.svg\n  em-infra graph --stack k3s-dev --lab > rehearsal.svg",
		RunE: func(command *cobra.Command, _ []string) error {
			s, err := newSession(flags, "", streamsOf(command))
			if err != nil {
				return refused(err)
			}
			if _, s.inventory, err = flags.load(); err != nil {
				return refused(err)
			}
			drawn, err := s.draw(command.Context())
			if err != nil {
				return err
			}
			return s.deliver(drawn, out)
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	command.Flags().StringVar(&out, "out", "", "the file to write (default: standard output)")
	return command
}

func (s *session) draw(ctx context.Context) ([]byte, error) {
	if s.workspace.Rehearsed {
		if err := s.followLab(); err != nil {
			return nil, err
		}
	}
	talosconfig, err := os.ReadFile(s.talosconfigFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return graph.SVG(pictured(s.inventory, askNodes(ctx, s.inventory.Nodes, talosconfig))), nil
}

// followLab moves the inventory to where the lab has put its nodes, if there is a lab.
func (s *session) followLab() error {
	d, err := lab.ReadDescription(s.workspace.Dir)
	if errors.Is(err, lab.ErrNoLab) {
		return nil
	}
	if err != nil {
		return err
	}
	s.inventory, err = s.inventory.Rebase(d.Network)
	return err
}

// askNodes asks all nodes at once whether they answer under the cluster's PKI; without a talosconfig none is asked.
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

// pictured is the inventory as the picture shows it.
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

func (s *session) deliver(drawn []byte, file string) error {
	if file == "" {
		_, err := terminal.Raw(s.out).Write(drawn)
		return err
	}
	if err := os.WriteFile(file, drawn, 0o644); err != nil { //nolint:gosec // a picture is there to be shown
		return refused(fmt.Errorf("--out: %w: choose a file in a folder that is there", err))
	}
	fmt.Fprintf(s.out, "drawn: %s\n", workspace.Nearby(file))
	return nil
}
