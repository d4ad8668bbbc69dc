package page_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/retention"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/page"
	"github.com/em-infra/em-infra/operator/internal/status"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const (
	typeVM            = "proxmoxve:VM/virtualMachine:VirtualMachine"
	typeCommand       = "command:local:Command"
	typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"
	typeBootstrap     = "talos:machine/bootstrap:Bootstrap"
	typeRelease       = "kubernetes:helm.sh/v3:Release"
)

// planned is an operation of the fixture; it waited for the one of a name and type.
type planned struct {
	name, kind     string
	phase          phase.Phase
	after, seconds float64
	waitedFor      [2]string
}

func summary(command string, seconds float64, operations ...planned) *artifacts.Summary {
	s := &artifacts.Summary{Stack: "k3s-dev", Command: command, Seconds: seconds, Outcome: artifacts.Succeeded}
	seen := map[phase.Phase]bool{}
	for _, o := range operations {
		r := artifacts.ResourceSummary{Name: o.name, Type: o.kind, Phase: o.phase, Operation: apitype.OpCreate, Outcome: "done", After: o.after, Seconds: o.seconds}
		if o.waitedFor[0] != "" {
			r.WaitedFor = &artifacts.Awaited{Name: o.waitedFor[0], Type: o.waitedFor[1]}
		}
		s.Resources = append(s.Resources, r)
		seen[o.phase] = true
	}
	for _, one := range phase.All {
		if seen[one] {
			s.Phases = append(s.Phases, artifacts.PhaseSummary{Phase: one})
		}
	}
	s.Changes = map[apitype.OpType]int{apitype.OpCreate: len(operations)}
	return s
}

// birth is a first up of three control planes and a worker with a GPU.
func birth() *artifacts.Summary {
	operations := []planned{
		{name: "k3s-dev-secrets", kind: "talos:machine/secrets:Secrets", phase: phase.Generate, after: 1.2, seconds: 0.4},
		{name: "k3s-dev-template-pve1-image-schematic", kind: "talos:imageFactory/schematic:Schematic", phase: phase.Generate, after: 1.3, seconds: 0.9},
		{name: "k3s-dev-template-pve1-iso", kind: typeCommand, phase: phase.Provision, after: 2.3, seconds: 31, waitedFor: [2]string{"k3s-dev-template-pve1-image-schematic", "talos:imageFactory/schematic:Schematic"}},
		{name: "k3s-dev-template-pve1-vm", kind: typeVM, phase: phase.Provision, after: 33.4, seconds: 6, waitedFor: [2]string{"k3s-dev-template-pve1-iso", typeCommand}},
	}
	template := [2]string{"k3s-dev-template-pve1-vm", typeVM}
	for i, node := range []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-gpu-1"} {
		at := 39.5 + float64(i)
		operations = append(operations,
			planned{name: node + "-vm", kind: typeVM, phase: phase.Provision, after: at, seconds: 22, waitedFor: template},
			planned{name: node + "-configuration", kind: typeConfiguration, phase: phase.Bootstrap, after: at + 22.1, seconds: 14, waitedFor: [2]string{node + "-vm", typeVM}},
		)
	}
	operations = append(operations,
		planned{name: "k3s-dev-control-1-membership", kind: typeCommand, phase: phase.Bootstrap, after: 76, seconds: 41, waitedFor: [2]string{"k3s-dev-control-1-configuration", typeConfiguration}},
		planned{name: "k3s-dev-bootstrap", kind: typeBootstrap, phase: phase.Bootstrap, after: 117.1, seconds: 2, waitedFor: [2]string{"k3s-dev-control-1-membership", typeCommand}},
	)
	for i, node := range []string{"k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-gpu-1"} {
		operations = append(operations, planned{name: node + "-membership", kind: typeCommand, phase: phase.Bootstrap, after: 119.2, seconds: 20 + float64(i), waitedFor: [2]string{"k3s-dev-bootstrap", typeBootstrap}})
	}
	operations = append(operations, planned{name: "k3s-dev-addons-cilium", kind: typeRelease, phase: phase.Addons, after: 141.4, seconds: 38, waitedFor: [2]string{"k3s-dev-gpu-1-membership", typeCommand}})
	return summary("up", 181.5, operations...)
}

// broken is an up that failed at the second node.
func broken() *artifacts.Summary {
	s := summary("up", 64,
		planned{name: "k3s-dev-worker-1-vm", kind: typeVM, phase: phase.Provision, after: 3, seconds: 21},
		planned{name: "k3s-dev-worker-2-vm", kind: typeVM, phase: phase.Provision, after: 3, seconds: 60},
	)
	s.Outcome, s.Error = artifacts.Failed, "k3s-dev-worker-2-vm: clone failed: storage 'tank' is full <100%>: free space on tank, then run `em-infra up --stack k3s-dev` again"
	s.Resources[1].Outcome = "failed"
	return s
}

func run(hour int, command string, s *artifacts.Summary) artifacts.Past {
	return artifacts.Past{Name: retention.Name{Taken: today.Add(-time.Duration(hour) * time.Hour), Kind: command, Turn: 1}, Summary: s}
}

func machine(name string, role inventory.Role, host string, vmid int) status.Machine {
	return status.Machine{
		Name: name, Role: role, Host: host, VMID: vmid, Address: netip.MustParseAddr(fmt.Sprintf("192.168.20.%d", vmid-90)), VM: "running", Known: true,
		Node: &nodeops.Observation{Talos: "v1.12.4", Stage: "running"}, Kubernetes: &status.KubernetesNode{Ready: true, Kubelet: "v1.35.4"},
	}
}

func at(days int) *time.Time {
	then := today.AddDate(0, 0, days)
	return &then
}

func reported() *status.Report {
	r := status.Report{
		Cluster: "k3s-dev", Time: today, Networked: true,
		Machines: []status.Machine{
			machine("k3s-dev-control-1", inventory.RoleControlPlane, "pve1", 101), machine("k3s-dev-control-2", inventory.RoleControlPlane, "pve2", 102),
			machine("k3s-dev-control-3", inventory.RoleControlPlane, "pve3", 103), machine("k3s-dev-gpu-1", inventory.RoleGPUWorker, "pve1", 121),
		},
		Orphans: []status.Orphan{{What: "disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120", Host: "pve1", Remove: "pvesm free tank:vm-120-disk-0"}},
	}
	r.Machines[2].VM, r.Machines[2].Node, r.Machines[2].Silent, r.Machines[2].Kubernetes.Ready = "stopped", &nodeops.Observation{}, true, false
	for _, m := range r.Machines[:3] {
		r.Members = append(r.Members, nodeops.EtcdMember{Name: m.Name, Address: m.Address.String()})
	}
	r.State.Resources = 34
	r = r.WithCredentials([]status.Credential{
		{Kind: status.KindProxmoxToken, Name: "em-infra@pve!operator", Made: at(-300), Ends: at(12), Rotation: "rotate proxmox-token"},
		{Kind: status.KindTalosCA, Made: at(-3), Ends: at(3647)},
		{Kind: status.KindSecretsProvider, Name: "passphrase", Rotation: "rotate passphrase"},
	})
	return &r
}

func picture() []byte {
	drawn := graph.Cluster{Name: "k3s-dev", Endpoint: "https://192.168.20.10:6443", Versions: []string{"Talos v1.12.4", "Kubernetes v1.35.4"}}
	for i, m := range reported().Machines[:3] {
		node := graph.Node{Name: m.Name, VMID: m.VMID, Addresses: []netip.Addr{m.Address}, Cores: 4, MemoryMiB: 8192, DiskGiB: 64, Health: graph.Healthy}
		if i == 2 {
			node.Health = graph.Unhealthy
		}
		drawn.Hosts = append(drawn.Hosts, graph.Host{Name: m.Host, Nodes: []graph.Node{node}})
	}
	gpu := reported().Machines[3]
	drawn.Hosts[0].Nodes = append(drawn.Hosts[0].Nodes, graph.Node{
		Name: gpu.Name, Role: graph.GPUWorker, VMID: gpu.VMID, Addresses: []netip.Addr{gpu.Address}, Cores: 8, MemoryMiB: 32768, DiskGiB: 256, GPUs: []string{"rtx3090"}, Health: graph.Healthy,
	})
	return graph.SVG(drawn)
}

// whole is a page with every part.
func whole() page.Page {
	return page.Page{
		Stack: "k3s-dev", Cluster: "k3s-dev", Written: today, Picture: picture(), Status: reported(),
		Drift: &drift.Report{
			Host:     []drift.Difference{{Subject: "k3s-dev-gpu-1-vm", Property: "memory.dedicated", Want: "32768", Have: "16384"}},
			Nodes:    []drift.Difference{{Subject: "k3s-dev-control-2", Property: "machine.kubelet.extraArgs.rotate-server-certificates", Want: "true"}},
			Upgrades: []string{"`em-infra up --stack k3s-dev` upgrades k3s-dev-control-2 from Talos v1.12.4 to v1.12.11"},
			Unread:   []string{"k3s-dev-control-3: no answer at 192.168.20.13:50000"},
		},
		Copies: []page.Copy{
			{Kind: "etcd", Name: "2026-11-21T10-00-00-before-up", Taken: today.Add(-2 * time.Hour), Place: "this machine and the bucket"},
			{Kind: "state", Name: "2026-11-21T10-00-00-before-up", Taken: today.Add(-2 * time.Hour), Place: "this machine"},
		},
		Runs: []artifacts.Past{
			run(1, "preview", summary("preview", 9, planned{name: "k3s-dev-gpu-1-vm", kind: typeVM, phase: phase.Provision, after: 4})),
			run(2, "up", birth()), run(3, "up", broken()), run(4, "destroy", nil),
		},
		Nodes: []string{"k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-gpu-1"},
	}
}
