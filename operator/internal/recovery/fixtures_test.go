package recovery_test

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// host is a Proxmox VE host with at most one machine and one container.
type host struct {
	machine   *pve.Machine
	container *pve.Machine
	err       error
	looked    []int

	deleteErr, startErr error
	pending             []string
	// settled are the nodes of the calls of Settle; deleted and started are the machines with their nodes.
	settled          []string
	deleted, started []operation
}

// operation is an operation on a machine.
type operation struct {
	vmid int
	node string
}

// Settle returns the machine if it is on the node; a machine without a node is on every one.
func (h *host) Settle(_ context.Context, node string, _ int) (*pve.Machine, error) {
	h.settled = append(h.settled, node)
	if h.machine == nil || h.machine.Node != "" && h.machine.Node != node {
		return nil, h.err
	}
	machine := *h.machine
	machine.Node = node
	return &machine, h.err
}

func (h *host) Look(_ context.Context, vmid int) (*pve.Machine, error) {
	h.looked = append(h.looked, vmid)
	return h.machine, h.err
}

// SettleContainer returns the same as LookContainer.
func (h *host) SettleContainer(ctx context.Context, vmid int) (*pve.Machine, error) {
	return h.LookContainer(ctx, vmid)
}

func (h *host) LookContainer(_ context.Context, vmid int) (*pve.Machine, error) {
	h.looked = append(h.looked, vmid)
	return h.container, h.err
}

func (h *host) Start(_ context.Context, node string, vmid int) error {
	if h.startErr == nil {
		h.started = append(h.started, operation{vmid, node})
	}
	return h.startErr
}

func (h *host) Pending(context.Context, string, int) ([]string, error) { return h.pending, h.err }

func (h *host) Delete(_ context.Context, node string, vmid int) error {
	if h.deleteErr == nil {
		h.deleted = append(h.deleted, operation{vmid, node})
	}
	return h.deleteErr
}

// with returns the evidence for a survey: a host, and the earlier states.
func with(h *host, past ...recovery.Past) recovery.Evidence {
	return recovery.Evidence{Host: h, Past: func() ([]recovery.Past, error) { return past, nil }}
}

const (
	urnProvider      = "urn:pulumi:k3s-dev::em-infra::pulumi:providers:proxmoxve::proxmox"
	urnNode          = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode::k3s-dev-worker-1"
	urnMachine       = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"
	urnConfiguration = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$talos:machine/configurationApply:ConfigurationApply::k3s-dev-worker-1-configuration"
	urnMembership    = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$command:local:Command::k3s-dev-worker-1-membership"
)

// born is the recorded creation time of the machine in the tests.
var born = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// machine returns the entry of VM 102 in the state when it is complete.
func machine() apitype.ResourceV3 {
	created := born
	return apitype.ResourceV3{
		URN: urnMachine, Type: "proxmoxve:VM/virtualMachine:VirtualMachine", ID: "102", Custom: true, Parent: urnNode,
		Inputs:  map[string]any{"nodeName": "vmhost", "vmId": 102.0, "name": "k3s-dev-worker-1"},
		Created: &created, Modified: &created,
	}
}

// failed returns the same entry after a failed operation.
func failed() apitype.ResourceV3 {
	half := machine()
	half.InitErrors = []string{"error updating VM: received an HTTP 403 response"}
	return half
}

// changedLater returns a machine that was changed after its creation.
func changedLater(m apitype.ResourceV3) apitype.ResourceV3 {
	later := born.Add(24 * time.Hour)
	m.Modified = &later
	return m
}

// configuration returns the configuration that was applied to the machine.
func configuration() apitype.ResourceV3 {
	return apitype.ResourceV3{
		URN: urnConfiguration, Type: "talos:machine/configurationApply:ConfigurationApply", ID: "machine_configuration_apply", Custom: true,
		Dependencies: []resource.URN{urnMachine}, DeletedWith: urnMachine, ReplaceWith: []resource.URN{urnMachine},
		PropertyDependencies: map[resource.PropertyKey][]resource.URN{"node": {urnMachine}},
	}
}

func membership() apitype.ResourceV3 {
	return apitype.ResourceV3{URN: urnMembership, Type: "command:local:Command", ID: "membership", Custom: true, ReplaceWith: []resource.URN{urnMachine}}
}

// state returns a deployment of these resources.
func state(resources ...apitype.ResourceV3) *apitype.DeploymentV3 {
	return &apitype.DeploymentV3{Resources: resources}
}

// kept returns a backup of such a deployment.
func kept(name string, resources ...apitype.ResourceV3) recovery.Past {
	return recovery.Past{Name: name, Deployment: *state(resources...)}
}

// begun returns a deployment of these resources with a pending creation of the machine.
func begun(resources ...apitype.ResourceV3) *apitype.DeploymentV3 {
	unfinished := machine()
	unfinished.ID, unfinished.Created, unfinished.Modified = "", nil, nil
	deployment := state(resources...)
	deployment.PendingOperations = []apitype.OperationV2{{Type: apitype.OperationTypeCreating, Resource: unfinished}}
	return deployment
}

// ours returns the machine on the host, off, without a record that it ran.
func ours() *pve.Machine { return &pve.Machine{Name: "k3s-dev-worker-1"} }
