package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Sources are the sources of a report.
type Sources struct {
	// Inventory is the cluster's inventory.
	Inventory *inventory.Inventory
	// Images are the inventory's images by the name of the node.
	Images map[string]Image
	// Host reads from Proxmox VE.
	Host pve.Reader
	// Owner is the stack, with its cluster if the state has one.
	Owner ownership.Owner
	// Deployment is the state.
	Deployment apitype.DeploymentV3
	// LastUpdate is the last run; nil if there was none.
	LastUpdate *Update
	// Locks are the locks of the state.
	Locks []recovery.Lock
	// Copies are what is kept of the cluster, on this machine and in its buckets.
	Copies Copies
	// Talosconfig and Kubeconfig are outputs of the stack, secret; empty if it has none yet.
	Talosconfig, Kubeconfig []byte
}

// patience is the time limit for one source: a host that is off does not answer at all.
const patience = 20 * time.Second

// Report asks all sources concurrently. It contains the errors of the sources that did not answer.
func (s Sources) Report(ctx context.Context, now time.Time) Report {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r := s.OfState(now)
	r.Cluster, r.Machines = s.Inventory.Cluster.Name, s.machines()
	// A network that was installed by hand cannot be detected, so only a network from the inventory is expected to work.
	r.Networked = s.Inventory.Cluster.Kubernetes.CNI != inventory.CNINone
	asks := []func(context.Context, *Report) error{s.askHost, s.askAgents}
	if len(s.Talosconfig) > 0 {
		asks = append(asks, s.askNodes, s.askEtcd)
	}
	if len(s.Kubeconfig) > 0 {
		asks = append(asks, s.askKubernetes, s.readCertificates)
	}
	unread := inParallel(asks, func(ask func(context.Context, *Report) error) error { return ask(ctx, &r) })
	for i := range r.Machines {
		if r.Machines[i].Taken != "" {
			r.Machines[i].GuestAgent = nil // the other guest's
		}
	}
	return r.WithUnread(unread...)
}

func (s Sources) machines() []Machine {
	known := state.VMIDs(s.Deployment)
	var machines []Machine
	for _, node := range s.Inventory.Nodes {
		machines = append(machines, Machine{
			Name: node.Name, Role: node.Role, Host: node.Host, VMID: node.VMID, Address: node.Address,
			Known: slices.Contains(known, node.VMID), GPUs: offered(s.Inventory.Cluster.Addons.GPU, node),
			DataDisks: mounts(node.DataDisks), Gateways: s.Inventory.Cluster.Network.Gateways(),
			Image: s.Images[node.Name], WantedKubernetes: s.Inventory.Cluster.Kubernetes.Version.String(),
		})
	}
	return machines
}

// mounts returns the names of the volumes on data disks.
func mounts(disks []inventory.DataDisk) []string {
	var names []string
	for _, disk := range disks {
		names = append(names, disk.Mount)
	}
	return names
}

// offered returns the number of GPUs that the device plugin offers on a node.
func offered(support *inventory.GPUSupport, node inventory.Node) int64 {
	if support == nil {
		return 0
	}
	shares := 1
	if slicing := support.DevicePlugin.TimeSlicing; slicing != nil {
		shares = slicing.Replicas
	}
	devices := make([]nvidia.Device, len(node.GPUs)) // one of a mapping has no facts here
	for i, gpu := range node.GPUs {
		devices[i] = nvidia.Device{Address: string(gpu.BDF), ID: string(gpu.DeviceID)}
	}
	_, all := nvidia.Offered(devices, shares)
	return int64(all)
}

func (s Sources) askEtcd(ctx context.Context, r *Report) (err error) {
	if r.Members, err = s.Health().Members(ctx); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// Health returns access to the nodes of the inventory, which asks the host whether silent nodes run.
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

// inParallel calls do for each element concurrently, and returns the errors in order.
func inParallel[T any](each []T, do func(T) error) []error {
	errs := make([]error, len(each))
	var all sync.WaitGroup
	for i, one := range each {
		all.Go(func() { errs[i] = do(one) })
	}
	all.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil || errors.Is(err, context.Canceled) })
}
