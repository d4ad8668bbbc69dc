package risk_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator/internal/risk"
)

// anyNode is a node of a generated plan, and what happens to its machine.
type anyNode struct {
	name, role string
	vmid, what int
}

// What happens to a machine.
const (
	stays = iota
	reboots
	isReplaced
	isDeleted
	shrinks
	ends
)

func (n anyNode) events() []event {
	switch n.what {
	case reboots:
		return node(n.name, n.role, n.vmid, apitype.OpUpdate, map[string]any{"memory": map[string]any{"dedicated": 16384.0}}, "memory.dedicated")
	case isReplaced:
		return node(n.name, n.role, n.vmid, apitype.OpReplace, map[string]any{"vmId": float64(n.vmid + 20)}, "vmId")
	case isDeleted:
		return node(n.name, n.role, n.vmid, apitype.OpDelete, nil)
	case shrinks:
		return node(n.name, n.role, n.vmid, apitype.OpUpdate, map[string]any{"disks": []any{map[string]any{"size": 32.0}}}, "disks[0].size")
	default:
		return same(n.name, n.role, n.vmid)
	}
}

// TestWhateverThePlanIs judges each plan of one and of three control planes with two workers: all combinations of what can happen to a
// machine. What changes is shown, a control plane is lost only with the permission that names it, each permission that is asked for counts,
// none makes the impossible possible, and the order of the events does not matter.
func TestWhateverThePlanIs(t *testing.T) {
	t.Parallel()
	for _, controlPlanes := range []int{1, 3} {
		var nodes []anyNode
		for i := range controlPlanes {
			nodes = append(nodes, anyNode{name: fmt.Sprintf("cp-%d", i+1), role: "control-plane", vmid: 101 + i})
		}
		for i := range 2 {
			nodes = append(nodes, anyNode{name: fmt.Sprintf("w-%d", i+1), role: "worker", vmid: 111 + i})
		}
		for combination := 0; ; combination++ {
			rest := combination
			for i := range nodes {
				nodes[i].what, rest = rest%ends, rest/ends
			}
			if rest > 0 {
				break
			}
			judgesAny(t, nodes)
		}
	}
}

func judgesAny(t *testing.T, nodes []anyNode) {
	t.Helper()
	var events []event
	for _, n := range nodes {
		events = append(events, n.events()...)
	}
	a := assess(events...)
	plan := fmt.Sprint(nodes)
	var shown, changed, lost []string
	for _, finding := range a.Findings {
		shown = append(shown, finding.Subject)
	}
	impossible := false
	for _, n := range nodes {
		if n.what != stays {
			changed = append(changed, n.name)
		}
		if n.role == "control-plane" && (n.what == isReplaced || n.what == isDeleted) {
			lost = append(lost, n.name)
		}
		impossible = impossible || n.what == shrinks
	}
	require.ElementsMatch(t, changed, shown, plan)
	require.ElementsMatch(t, lost, a.LostControlPlanes(), plan)
	needed := a.Missing(nil)
	for _, n := range nodes {
		permission := risk.Permission{Flag: risk.FlagReplace, Subject: n.name}
		if n.what == isDeleted {
			permission.Flag = risk.FlagDelete
		}
		if slices.Contains(lost, n.name) && !a.Impossible() {
			require.Contains(t, needed, permission, plan)
		}
	}
	if impossible {
		require.True(t, a.Impossible(), plan)
	}
	require.Equal(t, a.Impossible(), a.Refusal(needed) != "", plan)
	for i := range needed {
		require.NotEmpty(t, a.Refusal(slices.Delete(slices.Clone(needed), i, i+1)), "%v is not needed: %s", needed[i], plan)
	}
	forth := written(t, a)
	slices.Reverse(events)
	require.Equal(t, forth, written(t, assess(events...)), plan)
}
