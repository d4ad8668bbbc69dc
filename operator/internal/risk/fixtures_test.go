package risk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// event is an event of a preview, as the engine sends them.
type event struct {
	op       apitype.OpType
	kind     tokens.Type
	name     string
	parent   string
	old, new map[string]any
	changed  []string
	byHand   []string
	failed   []string
}

func urn(kind tokens.Type, name string) string {
	return string(resource.NewURN("k3s-dev", "em-infra", "", kind, name))
}

func assess(events ...event) risk.Assessment { return assessWith(risk.Seen{}, events...) }

// assessWith is assess with what the nodes say.
func assessWith(seen risk.Seen, events ...event) risk.Assessment {
	return risk.Assess(stepsOf(events...), seen)
}

func stepsOf(events ...event) []plan.Step {
	var stream []apitype.EngineEvent
	for _, e := range events {
		metadata := apitype.StepEventMetadata{Op: e.op, URN: urn(e.kind, e.name), Type: string(e.kind), DetailedDiff: map[string]apitype.PropertyDiff{}}
		for _, path := range e.changed {
			metadata.DetailedDiff[path] = apitype.PropertyDiff{Kind: apitype.DiffUpdate}
		}
		if e.op != apitype.OpCreate {
			metadata.Old = &apitype.StepEventStateMetadata{Parent: e.parent, Inputs: e.old, InitErrors: e.failed}
		}
		if e.op != apitype.OpDelete {
			metadata.New = &apitype.StepEventStateMetadata{Parent: e.parent, Inputs: e.new}
		}
		stream = append(stream, apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: metadata, Planning: true}})
	}
	steps := plan.Steps(stream)
	for _, e := range events {
		for i := range steps {
			if string(steps[i].URN) == urn(e.kind, e.name) {
				steps[i].ByHand = e.byHand
			}
		}
	}
	return steps
}

// machine returns the inputs of a node's virtual machine, with changes.
func machine(name string, vmid int, changes map[string]any) map[string]any {
	inputs := map[string]any{
		"name": name, "vmId": float64(vmid), "nodeName": "vmhost", "memory": map[string]any{"dedicated": 8192.0},
		"disks":          []any{map[string]any{"size": 64.0}},
		"initialization": map[string]any{"ipConfigs": []any{map[string]any{"ipv4": map[string]any{"address": fmt.Sprintf("192.168.20.%d/24", vmid-90)}}}},
	}
	for key, value := range changes {
		inputs[key] = value
	}
	return inputs
}

// node returns the events of a node to whose machine op happens.
func node(name, role string, vmid int, op apitype.OpType, changes map[string]any, changed ...string) []event {
	inputs, wanted := facts(name, role, vmid), facts(name, role, vmid)
	for key, changed := range map[string]string{"vmId": "vmid", "name": "name"} {
		if value, given := changes[key]; given {
			wanted[changed] = value
		}
	}
	component := event{op: apitype.OpSame, kind: token.TalosNode, name: "lab-" + name, old: inputs, new: wanted}
	if op == apitype.OpCreate || op == apitype.OpDelete {
		component.op = op
	}
	return []event{component, {
		op: op, kind: token.VirtualMachine, name: "lab-" + name + "-vm", parent: urn(token.TalosNode, "lab-"+name),
		old: machine(name, vmid, nil), new: machine(name, vmid, changes), changed: changed,
	}}
}

// facts returns the inputs of a node's component.
func facts(name, role string, vmid int) map[string]any {
	return map[string]any{
		"name": name, "role": role, "vmid": float64(vmid), "host": "vmhost", "addresses": []any{fmt.Sprintf("192.168.20.%d", vmid-90)},
	}
}

// member returns the membership of a node, to which op happens.
func member(name string, op apitype.OpType) event {
	return event{op: op, kind: token.Command, name: "lab-" + name + "-membership"}
}

// switchedOff has a node's machine be off before the run.
func switchedOff(events []event) []event {
	events[1].old["started"], events[1].new["started"] = false, true
	return events
}

// another gives a node's component another value of a fact.
func another(events []event, key string, value any) []event {
	events[0].op, events[0].new[key] = apitype.OpUpdate, value
	return events
}

func same(name, role string, vmid int) []event { return node(name, role, vmid, apitype.OpSame, nil) }

func written(t *testing.T, a risk.Assessment) string {
	t.Helper()
	var text strings.Builder
	require.NoError(t, a.WriteText(&text))
	return text.String()
}

const (
	schematicA = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	schematicB = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
)

// upgraded returns a node whose membership gets another image, by schematic and version.
func upgraded(name, role string, vmid int, from, to string) []event {
	command := func(image string) string {
		if image == "" {
			return "true" // as em-infra wrote it before it upgraded nodes
		}
		text := "${EM_INFRA:-go run -trimpath github.com/em-infra/em-infra/cmd/em-infra} node upgrade --name " + name +
			" --address 192.168.20.11 --image factory.talos.dev/nocloud-installer/" + image
		if role == "control-plane" {
			text += " --control-plane"
		}
		return text
	}
	return append(same(name, role, vmid), event{
		op: apitype.OpUpdate, kind: token.Command, name: "lab-" + name + "-membership", parent: urn(token.TalosCluster, "lab"),
		old: map[string]any{"update": command(from)}, new: map[string]any{"update": command(to)}, changed: []string{"update"},
	})
}

// kubernetes returns the Command of a cluster whose Kubernetes gets another version.
func kubernetes(from, to string) event {
	command := func(version string) map[string]any {
		return map[string]any{"create": "true", "update": state.KubernetesUpdate(version)}
	}
	return event{op: apitype.OpUpdate, kind: token.Command, name: "lab-kubernetes", parent: urn(token.TalosCluster, "lab"), old: command(from), new: command(to), changed: []string{"update"}}
}

// otherCard returns a node whose GPU becomes another card, and to whose machine op happens.
func otherCard(op apitype.OpType, changes map[string]any, changed ...string) []event {
	worker := event{op: apitype.OpSame, kind: token.GPUWorker, name: "lab-gpu-1"}
	events := node("gpu-1", "worker", 121, op, changes, changed...)
	events[0].parent = urn(worker.kind, worker.name)
	maps := func(path, id string) map[string]any {
		return map[string]any{"name": "gpu-1-gpu0", "maps": []any{map[string]any{
			"node": "vmhost", "path": path, "id": id, "subsystemId": "1462:3881", "iommuGroup": 14.0,
		}}}
	}
	return append(append([]event{worker}, events...), event{
		op: apitype.OpUpdate, kind: token.PCIMapping, name: "lab-gpu-1-gpu0", parent: urn(worker.kind, worker.name),
		old: maps("0000:01:00.0", "10de:2204"), new: maps("0000:02:00.0", "10de:2684"), changed: []string{"maps[0].path", "maps[0].id"},
	})
}
