package newstack

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// Plan is a cluster that fits its site.
type Plan struct {
	// Answers are complete.
	Answers
	// VIP is the address of the Kubernetes API.
	VIP netip.Addr
	// Templates are the VMIDs of the templates: one on each host, or one that all share.
	Templates []Template
	// Sizes of the nodes by role.
	Sizes inventory.Defaults
	// Nodes in the order of nodes.yaml.
	Nodes []Node
	// Pods and Services are networks of Kubernetes that overlap with no other. Default: not set, those of an inventory.
	Pods, Services netip.Prefix
	// Defaults are those of an inventory.
	Defaults inventory.Cluster
}

// Template is a template of a plan.
type Template struct {
	Host string
	VMID int
}

// Node is a node of a plan.
type Node struct {
	Name    string
	Role    inventory.Role
	VMID    int
	Address netip.Addr
	Host    string
	// GPU of a GPU worker, else nil.
	GPU *preflight.FreeGPU
}

// SharesTemplate reports whether the hosts share one template.
func (p Plan) SharesTemplate() bool { return len(p.Hosts) > 1 && len(p.Templates) == 1 }

// proposal is a plan that is being made.
type proposal struct {
	Plan
	site     Site
	taken    taken
	problems []error
}

// Propose completes the answers to a plan. The error has all that the site cannot give or that is missing, each with what to do; the plan
// then has what could be proposed nevertheless.
func (s Site) Propose(answers Answers) (Plan, error) {
	defaults, err := inventory.DefaultCluster()
	if err != nil {
		return Plan{}, err
	}
	p := &proposal{site: s, taken: s.taken(), Plan: Plan{Answers: answers, Defaults: defaults}}
	p.chooseName()
	p.chooseHosts()
	if !p.readings() {
		return p.Plan, errors.Join(p.problems...)
	}
	p.chooseBridge()
	p.chooseNetwork()
	p.chooseCounts()
	p.placeNodes()
	p.chooseStorages()
	p.choosePool()
	p.chooseSizes()
	p.chooseVMIDs()
	p.chooseAddresses()
	return p.Plan, errors.Join(p.problems...)
}

func (p *proposal) problem(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

func (p *proposal) chooseName() {
	if p.Cluster == "" {
		p.Cluster = p.Stack
	}
	if stack, is := p.taken.clusters[p.Cluster]; is {
		p.problem("%s is the cluster of stack %s: choose another name with --cluster", p.Cluster, stack)
	}
}

func (p *proposal) chooseHosts() {
	online := p.site.Found.OnlineHosts()
	if len(online) == 0 {
		p.problem("no host of this Proxmox VE is online: start one")
	}
	if len(p.Hosts) == 0 {
		p.Hosts = online
	}
	var chosen []string
	for _, host := range p.Hosts {
		switch {
		case !slices.Contains(online, host):
			p.problem("host %s is not online here: choose from %s with --host", host, strings.Join(online, ", "))
		case !slices.Contains(chosen, host):
			chosen = append(chosen, host)
		}
	}
	p.Hosts = chosen
}

// readings reports whether everything that a proposal needs could be read.
func (p *proposal) readings() bool {
	const remedy = "give the token the role that `em-infra role` prints, and see that the hosts answer"
	report := func(what string, err error) bool {
		if err != nil {
			p.problem("%s cannot be read (%w): %s", what, err, remedy)
		}
		return err == nil
	}
	sound := report("the list of machines", p.site.Found.Guests.Err)
	for _, host := range p.Hosts {
		found := p.site.Found.Hosts[host]
		sound = report("the size of host "+host, found.Capacity.Err) && sound
		sound = report("the storages of host "+host, found.Storages.Err) && sound
		sound = report("the bridges of host "+host, found.Bridges.Err) && sound
	}
	return sound
}

// Numbers of control planes with which etcd can lose a member, and the one with which it cannot.
var quorums = []int{1, 3, 5}

func (p *proposal) chooseCounts() {
	const forQuorum = 3
	switch {
	case p.ControlPlanes != 0:
	case len(p.Hosts) >= forQuorum:
		p.ControlPlanes = forQuorum
	default:
		p.ControlPlanes = 1
	}
	if !slices.Contains(quorums, p.ControlPlanes) {
		p.problem("etcd has 1, 3 or 5 members (got %d): give one of these as --control-planes", p.ControlPlanes)
	}
	if p.workers() < 0 || p.GPUWorkers < 0 {
		p.problem("a number of workers is negative: give 0 or more as --workers and --gpu-workers")
	}
	count := p.workers()
	p.Workers = &count
}

// placeNodes spreads the nodes over the hosts one after the other; a GPU worker is where its GPU is.
func (p *proposal) placeNodes() {
	if len(p.Hosts) == 0 {
		return
	}
	add := func(role inventory.Role, word string, number int, host string, gpu *preflight.FreeGPU) {
		name := fmt.Sprintf("%s-%s-%d", p.Cluster, word, number)
		if whose, is := p.taken.names[name]; is {
			p.problem("%s is called %s already: choose another name with --cluster, or rename it", whose, name)
		}
		p.Nodes = append(p.Nodes, Node{Name: name, Role: role, Host: host, GPU: gpu})
	}
	next := func() string { return p.Hosts[len(p.Nodes)%len(p.Hosts)] }
	for number := range max(p.ControlPlanes, 0) {
		add(inventory.RoleControlPlane, "control", number+1, next(), nil)
	}
	for number := range max(p.workers(), 0) {
		add(inventory.RoleWorker, "worker", number+1, next(), nil)
	}
	for number, gpu := range p.chooseGPUs() {
		add(inventory.RoleGPUWorker, "gpu", number+1, gpu.Host, &gpu)
	}
}

// chooseGPUs returns a free GPU for each GPU worker.
func (p *proposal) chooseGPUs() []preflight.FreeGPU {
	if p.GPUWorkers <= 0 {
		return nil
	}
	var free []preflight.FreeGPU
	var reasons []string
	for _, host := range p.Hosts {
		found, why := p.site.Found.FreeGPUs(host, p.Defaults.Talos.Version.String())
		reasons = append(reasons, why...)
		for _, gpu := range found {
			if stack, is := p.taken.gpuOf(gpu); is {
				reasons = append(reasons, fmt.Sprintf("PCI %s on %s is that of stack %s: take it out of that one first", gpu.Device.Address, host, stack))
				continue
			}
			if gpu.Mapping == "" {
				gpu.Mapping = p.site.Makers.MappingOf(host, gpu.Device.Address)
			}
			free = append(free, gpu)
		}
	}
	if len(free) >= p.GPUWorkers {
		return free[:p.GPUWorkers]
	}
	if len(reasons) == 0 {
		reasons = []string{"Proxmox VE shows no GPU more: see `lspci -Dnn` on the hosts, and that the token may read them (Sys.Audit on /)"}
	}
	p.problem("--gpu-workers is %d, and %d GPUs are free: %s", p.GPUWorkers, len(free), strings.Join(reasons, "; "))
	return nil
}
