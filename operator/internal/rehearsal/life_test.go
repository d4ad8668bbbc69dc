package rehearsal_test

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/rehearsal"
)

// fake is a system that works as expected, unless a test changes it.
type fake struct {
	inventories map[bool]*inventory.Inventory
	more        bool
	host        rehearsal.Host
	nodes       []rehearsal.Node
	writes      []string

	failing  string // the run that fails
	previews []rehearsal.Change
	bend     func(f *fake, after string)
}

var _ rehearsal.System = (*fake)(nil)

func (f *fake) Scale(more bool) error {
	f.more = more
	return nil
}

func (f *fake) Preflight(context.Context) (string, error) { return "17 checks: 17 ok", nil }

func (f *fake) Up(context.Context) ([]rehearsal.Change, error) {
	f.writes = append(f.writes, "POST /nodes/vmhost/qemu")
	if f.failing == "up" {
		return nil, errors.New("creating k3s-dev-worker-1-vm: storage 'tank' does not exist")
	}
	inv := f.inventories[f.more]
	var changes []rehearsal.Change
	for _, node := range inv.Nodes {
		if !slices.ContainsFunc(f.host.Machines, func(m rehearsal.Machine) bool { return m.VMID == node.VMID }) {
			changes = append(changes, rehearsal.Change{Operation: rehearsal.Create, Resource: node.Name + "-vm"})
		}
	}
	for _, machine := range f.host.Machines {
		if !slices.ContainsFunc(inv.Nodes, func(n inventory.Node) bool { return machine.VMID == n.VMID }) && !machine.Template {
			changes = append(changes, rehearsal.Change{Operation: rehearsal.Delete, Resource: machine.Name + "-vm"})
		}
	}
	f.host = rehearsal.Host{
		Machines: []rehearsal.Machine{{VMID: 9000, Name: "talos", Node: "vmhost", Template: true}},
		Files:    []rehearsal.File{{ID: "local:iso/talos.iso", ISO: true}, {ID: "tank:vm-101-disk-0"}},
	}
	f.nodes = nil
	for _, node := range inv.Nodes {
		f.host.Machines = append(f.host.Machines, rehearsal.Machine{VMID: node.VMID, Name: node.Name, Node: node.Host, Running: true})
		f.nodes = append(f.nodes, rehearsal.Node{Name: node.Name, Ready: true})
	}
	f.bent("up")
	return changes, nil
}

func (f *fake) Preview(context.Context) ([]rehearsal.Change, error) {
	f.bent("preview")
	return f.previews, nil
}

func (f *fake) Destroy(context.Context) ([]rehearsal.Change, error) {
	f.host = rehearsal.Host{Files: []rehearsal.File{{ID: "local:iso/talos.iso", ISO: true}}}
	f.bent("destroy")
	return []rehearsal.Change{{Operation: rehearsal.Delete, Resource: "talos"}}, nil
}

func (f *fake) bent(after string) {
	if f.bend != nil {
		f.bend(f, after)
	}
}

func (f *fake) Nodes(context.Context) ([]rehearsal.Node, error) { return slices.Clone(f.nodes), nil }
func (f *fake) Host(context.Context) (rehearsal.Host, error)    { return f.host, nil }
func (f *fake) Writes() ([]string, error)                       { return slices.Clone(f.writes), nil }

// lived runs the life of a small cluster on a fake system and returns its report without the times.
func lived(t *testing.T, change func(*fake), keep bool) (*rehearsal.Report, string) {
	t.Helper()
	inv := parse(t, clusterYAML, nodesYAML(101, 11, 102, 21))
	extended, err := rehearsal.WithAWorkerMore(inv)
	require.NoError(t, err)
	system := &fake{inventories: map[bool]*inventory.Inventory{false: inv, true: extended.Inventory}}
	if change != nil {
		change(system)
	}
	report := rehearsal.NewReport(inv.Cluster.Name)
	var output bytes.Buffer
	life := rehearsal.Life{
		System: system, Inventory: inv, Extended: extended, Keep: keep, Done: func(s rehearsal.Step) { s.WriteText(&output) },
	}
	life.Run(t.Context(), report)
	output.WriteString(report.Verdict() + "\n")
	return report, regexp.MustCompile(`\d+\.\d s`).ReplaceAllString(output.String(), "0.0 s")
}

func TestALifeAsExpected(t *testing.T) {
	t.Parallel()
	report, output := lived(t, nil, false)
	require.True(t, report.Expected)
	require.Equal(t, ` preflight   17 checks: 17 ok                                             0.0 s
 up          2 created; 2/2 nodes Ready                                   0.0 s
 no-op       nothing changes                                              0.0 s
 scale up    1 created; 3/3 nodes Ready                                   0.0 s
 scale down  1 deleted; 2/2 nodes Ready                                   0.0 s
 destroy     1 deleted; the host is as it was, one ISO image is kept      0.0 s
k3s-dev is rehearsed in 0.0 s: all as expected
`, output)
}

func TestALifeThatIsKept(t *testing.T) {
	t.Parallel()
	report, _ := lived(t, nil, true)
	require.True(t, report.Expected)
	require.Equal(t, "scale down", report.Steps[len(report.Steps)-1].Name)
}

// TestDifferences: every kind of difference is reported at the step where it occurs, and the life continues.
func TestDifferences(t *testing.T) {
	t.Parallel()
	after := func(run string, bend func(*fake)) func(*fake) {
		return func(f *fake) {
			f.bend = func(f *fake, ended string) {
				if ended == run {
					bend(f)
				}
			}
		}
	}
	for name, test := range map[string]struct {
		bend        func(*fake)
		step        string
		differences []string
	}{
		"a preview that would change something": {
			func(f *fake) { f.previews = []rehearsal.Change{{Operation: rehearsal.Update, Resource: "worker-1-vm"}} },
			"no-op",
			[]string{"update worker-1-vm, which nothing in the inventory asks for"},
		},
		"a preview that writes": {
			after("preview", func(f *fake) { f.writes = append(f.writes, "PUT /nodes/vmhost/qemu/101/config") }),
			"no-op",
			[]string{"the preview wrote to the host: PUT /nodes/vmhost/qemu/101/config"},
		},
		"a Node that is not Ready": {
			after("up", func(f *fake) { f.nodes[1].Ready = false }),
			"up",
			[]string{"Node worker-1 is not Ready"},
		},
		"a Node that has not joined": {
			after("up", func(f *fake) { f.nodes = f.nodes[:1] }),
			"up",
			[]string{"Node worker-1 has not joined"},
		},
		"a Node that stays": {
			after("up", func(f *fake) {
				if !f.more {
					f.nodes = append(f.nodes, rehearsal.Node{Name: "rehearsal-worker"})
				}
			}),
			"scale down",
			[]string{"Node rehearsal-worker is still there, and not in the inventory"},
		},
		"a machine that stays": {
			after("up", func(f *fake) {
				if !f.more {
					f.host.Machines = append(f.host.Machines, rehearsal.Machine{VMID: 103, Name: "rehearsal-worker", Node: "vmhost"})
				}
			}),
			"scale down",
			[]string{"VM 103 (rehearsal-worker) is on vmhost, and not in the inventory"},
		},
		"machines that are not as they should be": {
			after("up", func(f *fake) {
				f.host.Machines[1].Running = false
				f.host.Machines[2].Node = "vmhost2"
			}),
			"up",
			[]string{"VM 101 (control-1) does not run", "VM 102 is worker-1 on vmhost2, not worker-1 on vmhost"},
		},
		"a machine that is not there": {
			after("up", func(f *fake) { f.host.Machines = f.host.Machines[:2] }),
			"up",
			[]string{"VM 102 (worker-1) is not on the host"},
		},
		"something left": {
			after("destroy", func(f *fake) {
				f.host.Machines = []rehearsal.Machine{{VMID: 9000, Name: "talos", Node: "vmhost", Template: true}}
				f.host.Files = append(f.host.Files, rehearsal.File{ID: "tank:base-9000-disk-0"})
			}),
			"destroy",
			[]string{"VM 9000 (talos) is left on vmhost", "tank:base-9000-disk-0 is left on the host"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, _ := lived(t, test.bend, false)
			require.False(t, report.Expected)
			require.Empty(t, report.Failed())
			require.Len(t, report.Steps, 6, "the life goes on")
			at := slices.IndexFunc(report.Steps, func(s rehearsal.Step) bool { return s.Name == test.step })
			require.Subset(t, report.Steps[at].Differences, test.differences)
		})
	}
}

// TestScalingThatDoesNothing: scaling without a change is a difference.
func TestScalingThatDoesNothing(t *testing.T) {
	t.Parallel()
	report, _ := lived(t, func(f *fake) { f.inventories[true] = f.inventories[false] }, false)
	require.Contains(t, report.Steps[3].Differences, "rehearsal-worker is new in the inventory, and nothing was created for it")
	require.Contains(t, report.Steps[4].Differences, "rehearsal-worker has left the inventory, and nothing was deleted")
}

func TestALifeThatFails(t *testing.T) {
	t.Parallel()
	report, output := lived(t, func(f *fake) { f.failing = "up" }, false)
	require.False(t, report.Expected)
	require.Equal(t, "up", report.Failed())
	require.Equal(t, ` preflight   17 checks: 17 ok                                             0.0 s
 up          failed                                                       0.0 s
             → creating k3s-dev-worker-1-vm: storage 'tank' does not exist
k3s-dev is rehearsed in 0.0 s: up failed, so what follows it was not rehearsed
`, output)
}

func TestReportForPrograms(t *testing.T) {
	t.Parallel()
	report := rehearsal.NewReport("k3s-dev")
	report.Add(rehearsal.Step{Name: "up", Seconds: 1.5, Note: "2 created", Differences: []string{"Node worker-1 has not joined"}})
	report.Add(rehearsal.Step{Name: "no-op", Seconds: 2, Error: "no answer"})
	var text bytes.Buffer
	require.NoError(t, report.WriteJSON(&text))
	require.JSONEq(t, `{"cluster": "k3s-dev", "expected": false, "seconds": 3.5, "steps": [
		{"name": "up", "seconds": 1.5, "note": "2 created", "differences": ["Node worker-1 has not joined"]},
		{"name": "no-op", "seconds": 2, "error": "no answer"}]}`, text.String())
}
