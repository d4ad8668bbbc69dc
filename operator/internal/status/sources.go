package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Sources are whom a report asks.
type Sources struct {
	// Inventory of the cluster.
	Inventory *inventory.Inventory
	// Images that the inventory wants, by the name of the node.
	Images map[string]Image
	// Host is Proxmox VE.
	Host pve.Reader
	// Owner is the stack, with its cluster where the state has one.
	Owner ownership.Owner
	// Deployment is the state.
	Deployment apitype.DeploymentV3
	// LastUpdate is the last run; nil when there was none.
	LastUpdate *Update
	// Locks lie on the state.
	Locks []recovery.Lock
	// Talosconfig and Kubeconfig are the stack's outputs, secret; empty before there are any.
	Talosconfig, Kubeconfig []byte
}

// patience is how long one source may take: a host that is off does not answer at all.
const patience = 20 * time.Second

// Report asks all sources at the same time. The report says which of them did not answer.
func (s Sources) Report(ctx context.Context, now time.Time) Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := Report{
		Cluster:  s.Inventory.Cluster.Name,
		Time:     now,
		Machines: s.machines(),
		// What was installed by hand cannot be seen from here, so only a network that we know of is expected to work.
		Networked: s.Inventory.Cluster.Kubernetes.CNI != inventory.CNINone,
		State: State{
			Resources: len(s.Deployment.Resources), LastUpdate: s.LastUpdate, Pending: pending(s.Deployment), Locks: s.Locks,
		},
	}
	asks := []func(context.Context, *Report) error{s.askHost, s.askAgents}
	if len(s.Talosconfig) > 0 {
		asks = append(asks, s.askNodes, s.askEtcd)
	}
	if len(s.Kubeconfig) > 0 {
		asks = append(asks, s.askKubernetes, s.readCertificates)
	}
	r.Unread = inParallel(asks, func(ask func(context.Context, *Report) error) error { return ask(ctx, &r) })
	return r
}

func (s Sources) machines() []Machine {
	known := vmids(s.Deployment)
	var machines []Machine
	for _, node := range s.Inventory.Nodes {
		machines = append(machines, Machine{
			Name: node.Name, Role: node.Role, Host: node.Host, VMID: node.VMID, Address: node.Address,
			Known: slices.Contains(known, node.VMID), GPUs: offered(s.Inventory.Cluster.Addons.GPU, node),
			DataDisks: mounts(node.DataDisks), Gateways: s.Inventory.Cluster.Network.Gateways(),
			Image: s.Images[node.Name],
		})
	}
	return machines
}

// mounts are the names of the volumes on data disks.
func mounts(disks []inventory.DataDisk) []string {
	var names []string
	for _, disk := range disks {
		names = append(names, disk.Mount)
	}
	return names
}

// offered is what the device plugin makes of a node's GPUs.
func offered(support *inventory.GPUSupport, node inventory.Node) int64 {
	if support == nil {
		return 0
	}
	shares := 1
	if slicing := support.DevicePlugin.TimeSlicing; slicing != nil {
		shares = slicing.Replicas
	}
	return int64(len(node.GPUs) * shares)
}

// askNodes asks each machine that the state knows; a node that does not answer is nothing unread but a finding.
func (s Sources) askNodes(ctx context.Context, r *Report) error {
	indices := make([]int, 0, len(r.Machines))
	for i := range r.Machines {
		if r.Machines[i].Known {
			indices = append(indices, i)
		}
	}
	health := s.Health()
	inParallel(indices, func(i int) error {
		seen, err := health.Observe(ctx, r.Machines[i].Address.String())
		if err != nil {
			seen = nodeops.Observation{Unmet: []string{err.Error()}}
			if errors.Is(err, nodeops.ErrForeign) && nodeops.InMaintenance(ctx, r.Machines[i].Address.String()) {
				seen.Stage, seen.Unmet = "maintenance", []string{"it is in maintenance mode and waits for its configuration: `em-infra up` applies it"}
			}
		}
		r.Machines[i].Node = &seen
		return nil
	})
	return nil
}

func (s Sources) askEtcd(ctx context.Context, r *Report) (err error) {
	if r.Members, err = s.Health().Members(ctx); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// Health asks the nodes of the inventory, and the host about those that are silent.
func (s Sources) Health() nodeops.Health {
	health, vmids := nodeops.Health{Talosconfig: s.Talosconfig}, map[string]int{}
	if s.Host != (pve.Reader{}) {
		health.Runs = func(ctx context.Context, node rolling.Node) (bool, error) {
			return s.Host.IsRunning(ctx, vmids[node.Name])
		}
	}
	for _, node := range s.Inventory.Nodes {
		vmids[node.Name] = node.VMID
		health.Nodes = append(health.Nodes, rolling.Node{
			Name: node.Name, Address: node.Address, ControlPlane: node.Role == inventory.RoleControlPlane,
		})
	}
	return health
}

func (s Sources) readCertificates(_ context.Context, r *Report) (err error) {
	r.Certificates, err = Certificates(s.Talosconfig, s.Kubeconfig)
	return err
}

// inParallel does something to each at the same time, and returns what their errors say, in their order.
func inParallel[T any](each []T, do func(T) error) []string {
	errs := make([]error, len(each))
	var all sync.WaitGroup
	for i, one := range each {
		all.Go(func() { errs[i] = do(one) })
	}
	all.Wait()
	var texts []string
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			texts = append(texts, err.Error())
		}
	}
	return texts
}
