package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

const (
	typeProxmox = "pulumi:providers:proxmoxve"
	// vmSuffix is what the program appends to a component's name for that of its machine.
	vmSuffix = "-vm"
)

// makers are the components that make a machine, and say in their inputs which and where.
var makers = []tokens.Type{"em-infra:index:TalosNode", "em-infra:index:TalosTemplate"}

// Record puts machines into a deployment that a creation which failed has left half made: the engine forgets one that
// returned no ID, and a host that goes down in the middle of a clone leaves it as it is, with its lock. They are recorded
// as the engine records a creation that failed half way, so that [ClearHalfMade] settles them, in this run or, once
// somebody has taken the lock away, in the next. It changes the deployment, and returns how many there are.
//
// Only what cannot be anything else counts: the machine is where the state says that one of ours was to be made, it was
// never started, it has our name or none yet, and the lock of its own creation or nothing in it.
func Record(ctx context.Context, deployment *apitype.DeploymentV3, host Host) (int, error) {
	recorded := 0
	for _, maker := range slices.Clone(deployment.Resources) {
		if !slices.Contains(makers, maker.Type) || maker.Delete || hasMachine(deployment, maker.URN) {
			continue
		}
		wanted, err := placeOf(maker)
		if err != nil || wanted.VMID == 0 {
			return recorded, err
		}
		machine, err := host.Look(ctx, wanted.Node, wanted.VMID)
		if err != nil {
			return recorded, err
		}
		if machine == nil || !machine.isHalfMade() || !isNamedAfter(machine.Name, maker.URN) {
			continue
		}
		deployment.Resources = append(deployment.Resources, halfMade(deployment, maker, wanted, machine.Name))
		recorded++
	}
	return recorded, nil
}

// place is where a component makes its machine.
type place struct {
	Node string `json:"host"`
	VMID int    `json:"vmid"`
}

func placeOf(maker apitype.ResourceV3) (place, error) {
	var wanted place
	inputs, err := json.Marshal(maker.Inputs)
	if err != nil {
		return wanted, err
	}
	if err := json.Unmarshal(inputs, &wanted); err != nil {
		return wanted, fmt.Errorf("inputs of %s in the state: %w: restore the state from a backup", maker.URN.Name(), err)
	}
	return wanted, nil
}

func hasMachine(deployment *apitype.DeploymentV3, maker resource.URN) bool {
	return slices.ContainsFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == typeVM && r.Parent == maker })
}

// isHalfMade says whether a machine is what the beginning of its creation has left.
func (m *Machine) isHalfMade() bool {
	return !m.Started && (m.Empty || m.Lock == "clone" || m.Lock == "create")
}

// isNamedAfter says whether a machine has the name that its component gives it, which is its own, or its own behind the
// cluster's; or none yet.
func isNamedAfter(name string, maker resource.URN) bool {
	return name == "" || name == maker.Name() || strings.HasSuffix(maker.Name(), "-"+name)
}

// halfMade is a machine in the state whose creation failed half way.
func halfMade(deployment *apitype.DeploymentV3, maker apitype.ResourceV3, at place, name string) apitype.ResourceV3 {
	if name == "" {
		name = maker.URN.Name()
	}
	urn := maker.URN
	return apitype.ResourceV3{
		URN:        resource.NewURN(urn.Stack(), urn.Project(), urn.QualifiedType(), typeVM, urn.Name()+vmSuffix),
		Custom:     true,
		ID:         resource.ID(strconv.Itoa(at.VMID)),
		Type:       typeVM,
		Inputs:     map[string]any{"nodeName": at.Node, "vmId": float64(at.VMID), "name": name},
		Outputs:    map[string]any{"nodeName": at.Node, "vmId": float64(at.VMID), "name": name},
		Parent:     urn,
		Provider:   proxmoxProvider(deployment),
		InitErrors: []string{"its creation failed, and the host did not clean up after it"},
	}
}

// proxmoxProvider is the reference to the provider of machines.
func proxmoxProvider(deployment *apitype.DeploymentV3) string {
	for _, r := range deployment.Resources {
		if r.Type == typeProxmox && !r.Delete {
			return string(r.URN) + resource.URNNameDelimiter + string(r.ID)
		}
	}
	return ""
}
