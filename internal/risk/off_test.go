package risk_test

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/risk"
)

// switchedOff is a node whose machine is off before the run, with other changes that the run makes.
func switchedOff(name, role string, vmid int, changes map[string]any, changed ...string) []event {
	events := node(name, role, vmid, apitype.OpUpdate, changes, append(changed, "started")...)
	events[1].old["started"], events[1].new["started"] = false, true
	return events
}

func TestStartFirst(t *testing.T) {
	t.Parallel()
	larger := map[string]any{"memory": map[string]any{"dedicated": 16384.0}}
	template := event{
		op: apitype.OpUpdate, kind: typeVM, name: "lab-template-vmhost-vm", parent: urn(typeTemplate, "lab-template-vmhost"),
		old: machine("talos-base", 9000, map[string]any{"started": false}), new: machine("talos-base", 9000, map[string]any{"started": false}), changed: []string{"cpu.cores"},
	}
	for _, test := range []struct {
		name   string
		events []event
		byHand map[string]any // of the last machine, what no provider reads
		first  []risk.Off
	}{
		{"off, and its hardware differs", switchedOff("w-1", "worker", 111, larger, "memory.dedicated"), nil, []risk.Off{{Name: "w-1", VMID: 111}}},
		{"off alone", switchedOff("w-1", "worker", 111, nil), nil, nil},
		{"off, and what differs needs no reboot", switchedOff("w-1", "worker", 111, nil, "tags[0]", "ipv4Addresses"), nil, nil},
		{"off, and its boot order differs", switchedOff("w-1", "worker", 111, nil), map[string]any{"bootOrders": []any{"ide0"}}, []risk.Off{{Name: "w-1", VMID: 111}}},
		{"it runs", node("w-1", "worker", 111, apitype.OpUpdate, larger, "memory.dedicated"), nil, nil},
		{"a template is always off", []event{template}, nil, nil},
		{
			"a worker needs the control plane that is off, too",
			slices.Concat(switchedOff("cp-1", "control-plane", 101, nil), switchedOff("w-1", "worker", 111, larger, "memory.dedicated"), same("w-2", "worker", 112)),
			nil, []risk.Off{{Name: "cp-1", VMID: 101}, {Name: "w-1", VMID: 111}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			steps := stepsOf(test.events...)
			if test.byHand != nil {
				for i := range steps {
					if steps[i].URN.Type() == typeVM {
						steps[i].Differ(test.byHand)
					}
				}
			}
			require.Equal(t, test.first, risk.StartFirst(steps))
		})
	}
}
