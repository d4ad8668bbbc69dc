package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

const typeVM = "proxmoxve:VM/virtualMachine:VirtualMachine"

// Host is what recovery asks of Proxmox VE.
type Host interface {
	// Settle waits until no task works on a machine and no lock is on it, and returns it; nil when there is none.
	Settle(ctx context.Context, node string, vmid int) (*Machine, error)
	// Look returns a machine as it is now, on whichever node; nil when there is none that may be seen.
	Look(ctx context.Context, vmid int) (*Machine, error)
	// Delete deletes a machine that is off.
	Delete(ctx context.Context, node string, vmid int) error
}

// Machine is what recovery has to know of a virtual machine.
type Machine struct {
	// Node that it stands on.
	Node string
	// Name in Proxmox VE; that of an empty machine is "".
	Name string
	// Empty says that a task has only begun to make it: it has no name yet, no disk and no other hardware.
	Empty bool
	// Lock is what the task does that holds it, such as clone; "" for none.
	Lock string
	// Started says that it runs, or did at any time since it was made.
	Started bool
}

// ClearPending settles what the operations that were begun and never finished have left on the host, and forgets them. It
// changes the deployment and returns one sentence for each thing that was done.
func ClearPending(ctx context.Context, deployment *apitype.DeploymentV3, host Host) (done []string, err error) {
	for _, operation := range deployment.PendingOperations {
		if operation.Type == apitype.OperationTypeCreating && isMade(deployment, operation.Resource.URN) {
			continue
		}
		if operation.Type != apitype.OperationTypeCreating || operation.Resource.Type != typeVM {
			done = append(done, fmt.Sprintf("%s of %s was interrupted: it is done again", operation.Type, operation.Resource.URN.Name()))
			continue
		}
		sentence, err := clearMachine(ctx, operation.Resource, host)
		if err != nil {
			return done, err
		}
		done = append(done, sentence)
	}
	deployment.PendingOperations = nil
	return done, nil
}

// isMade says that a resource is in the state after all: a plain engine keeps a creation pending that it has made up for
// in a later run.
func isMade(deployment *apitype.DeploymentV3, urn resource.URN) bool {
	return slices.ContainsFunc(deployment.Resources, func(made apitype.ResourceV3) bool {
		return made.URN == urn && made.ID != "" && !made.Delete
	})
}

// ClearHalfMade settles the machines whose creation failed half way. The engine keeps them in the state and would update
// them, which never starts a machine; one that was never started is deleted and left to be made anew. One that was
// started is whole, and only a change of it failed: that is left to the engine. It changes the deployment and returns one
// sentence for each thing that was done.
func ClearHalfMade(ctx context.Context, deployment *apitype.DeploymentV3, host Host) (done []string, err error) {
	for _, resource := range slices.Clone(deployment.Resources) {
		if resource.Type != typeVM || len(resource.InitErrors) == 0 || resource.Delete {
			continue
		}
		sentence, err := clearMachine(ctx, resource, host)
		if errors.Is(err, errStarted) {
			continue
		}
		if err != nil {
			return done, err
		}
		forget(deployment, resource.URN)
		done = append(done, sentence)
	}
	return done, nil
}

// leftover are the inputs of a machine whose creation was interrupted.
type leftover struct {
	Node string  `json:"nodeName"`
	VMID float64 `json:"vmId"`
	Name string  `json:"name"`
	// Clone says where the template stands.
	Clone struct {
		Node string `json:"nodeName"`
	} `json:"clone"`
}

func clearMachine(ctx context.Context, unfinished apitype.ResourceV3, host Host) (string, error) {
	inputs, err := json.Marshal(unfinished.Inputs)
	if err != nil {
		return "", err
	}
	var wanted leftover
	if err := json.Unmarshal(inputs, &wanted); err != nil {
		return "", fmt.Errorf("unfinished creation of %s: %w", unfinished.URN.Name(), err)
	}
	vmid := int(wanted.VMID)
	if wanted.Node == "" || vmid == 0 {
		return "", fmt.Errorf("unfinished creation of %s: the state does not say which VM on which host: restore the state from a backup", unfinished.URN.Name())
	}
	machine, err := settle(ctx, wanted, host)
	if err != nil {
		return "", err
	}
	if machine == nil {
		return fmt.Sprintf("creation of VM %d (%s) ended before it existed", vmid, wanted.Name), nil
	}
	wanted.Node = machine.Node
	switch {
	case !machine.Empty && machine.Name != wanted.Name:
		return "", fmt.Errorf("VM %d on %s is %q, not our %q: give our node another vmid in nodes.yaml, or delete that VM", vmid, wanted.Node, machine.Name, wanted.Name)
	case machine.Started:
		return "", &startedError{vmid: vmid, leftover: wanted}
	}
	if err := host.Delete(ctx, wanted.Node, vmid); err != nil {
		return "", err
	}
	return fmt.Sprintf("creation of VM %d (%s) ended half way: what was left of it is deleted, it never ran", vmid, wanted.Name), nil
}

// settle waits for what is left of a machine. A clone for another host is made on the template's, and moved when it is done
// (qemu-server, API2/Qemu.pm, clone_vm).
func settle(ctx context.Context, wanted leftover, host Host) (*Machine, error) {
	if template := wanted.Clone.Node; template != "" && template != wanted.Node {
		machine, err := host.Settle(ctx, template, int(wanted.VMID))
		if err != nil || machine != nil {
			return machine, err
		}
	}
	return host.Settle(ctx, wanted.Node, int(wanted.VMID))
}

// errStarted is wrapped by every startedError.
var errStarted = errors.New("the machine was started")

// startedError leaves alone what only its owner may decide on.
type startedError struct {
	vmid int
	leftover
}

func (e *startedError) Error() string {
	return fmt.Sprintf("VM %[1]d (%[2]s) was started by a run that ended before it could note so, and is left alone: if it holds nothing, delete it with `qm stop %[1]d && qm destroy %[1]d --purge` on %[3]s, then run up again", e.vmid, e.Name, e.Node)
}

func (e *startedError) Unwrap() error { return errStarted }
