package e2e_test

import (
	"flag"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

var faultsOf = flag.String("faults", "selection", "selection, or all: the rows that TestE2EFaults runs")

// trial is an operation in which a fault occurs.
type trial string

const (
	birth   trial = "up"
	removal trial = "removal"
	change  trial = "change"
)

var trials = []trial{birth, removal, change}

// end is the expected end of an operation with a fault, and how to continue when the fault is gone.
type end struct {
	// code is the exit code; says are parts of the output.
	code int
	says []string
	// where narrows the fault, as flags of `em-infra lab fault set`.
	where []string
	// before prepares the inventory; nil uses the operation's own.
	before func(*rehearsal)
	// next are the commands in the message that continue, as patterns whose group is a command of em-infra. Default: `em-infra up`
	// alone.
	next []string
	// byHand does the manual steps of the message, before next.
	byHand func(r *rehearsal, first result)
	// during does the user's action while the run waits; nil means that the user waits, too.
	during func(r *rehearsal, up *started)
	// selected is whether it runs in each build.
	selected bool
}

// bears returns the end of an operation that succeeds.
func bears() end { return end{} }

// stops returns the end of an operation that fails with a message.
func stops(says ...string) end { return end{code: 1, says: says} }

// refused returns the end of an operation that is refused before it begins.
func refused(says ...string) end { return end{code: 3, says: says} }

func (e end) at(flags ...string) end                         { e.where = flags; return e }
func (e end) with(before func(*rehearsal)) end               { e.before = before; return e }
func (e end) then(patterns ...string) end                    { e.next = patterns; return e }
func (e end) inEachBuild() end                               { e.selected = true; return e }
func (e end) telling(says ...string) end                     { e.says = says; return e }
func (e end) mendedBy(hand func(*rehearsal, result)) end     { e.byHand = hand; return e }
func (e end) answeredBy(hand func(*rehearsal, *started)) end { e.during = hand; return e }
func (e end) runs() bool                                     { return e.selected || *faultsOf == "all" }
func (e end) isWhole() bool                                  { return e.code == 0 }
func (f faultRow) course(o trial) course {
	return map[trial]course{birth: f.birth, removal: f.removal, change: f.change}[o]
}

// course are the expected ends under a fault that occurs once, and under one that lasts until it is removed.
type course struct {
	// never is the reason why it cannot occur. Then no other field is set.
	never         string
	once, lasting end
}

// never returns the course of a fault that cannot occur in an operation.
func never(why string) course { return course{never: why} }

// both returns the course if both faults lead to the same end.
func both(e end) course { return course{once: e, lasting: e} }

// faultRow is one fault in all operations.
type faultRow struct {
	fault                  string
	birth, removal, change course
}

// faultBound is the maximal duration of a run under a fault: the provider's wait for a task, and the rest of the run.
const faultBound = 25 * time.Minute

// TestE2EFaults makes each fault of the lab occur in the birth of a cluster, in the removal of a worker and in a change of nodes, one after the
// other. It checks how the operation ends, what it prints, and that it can be continued once the fault is gone. Most rows run on request, with
// -faults all (docs/testing.md).
func TestE2EFaults(t *testing.T) {
	t.Parallel()
	if *faultsOf != "all" {
		extended(t)
	}
	all := &harmless{}
	for _, row := range faultTable {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			for _, o := range trials {
				t.Run(string(o), func(t *testing.T) {
					t.Parallel()
					c := row.course(o)
					if c.never != "" && *faultsOf != "all" {
						t.Skip("runs with -faults all")
					}
					if c.never != "" {
						occurred, was := all.runs(t, o)[row.fault]
						require.True(t, was, "the run under those faults did not come to an end")
						require.Zero(t, occurred, "it occurred, although: %s", c.never)
						return
					}
					t.Run("once", func(t *testing.T) { tryFault(t, row.fault, o, c.once, "--times", "1") })
					t.Run("lasting", func(t *testing.T) { tryFault(t, row.fault, o, c.lasting) })
				})
			}
		})
	}
}

// TestEveryFaultHasARow compares the table with the lab: each fault once, in the lab's order, with complete rows.
func TestEveryFaultHasARow(t *testing.T) {
	t.Parallel()
	var want, have []string
	for _, kind := range lab.FaultKinds() {
		want = append(want, kind.Name)
	}
	for _, row := range faultTable {
		have = append(have, row.fault)
		for _, o := range trials {
			for _, e := range []end{row.course(o).once, row.course(o).lasting} {
				require.False(t, row.course(o).never != "" && e.code != 0, "%s cannot occur in %s", row.fault, o)
				require.Equal(t, e.code != 0, len(e.says) > 0, "%s in %s: what fails says why", row.fault, o)
			}
		}
	}
	require.Equal(t, want, have)
}

// tryFault runs one row.
func tryFault(t *testing.T, fault string, o trial, e end, times ...string) {
	t.Helper()
	if !e.runs() {
		t.Skip("runs with -faults all")
	}
	t.Parallel()
	r := begins(t, o, fault+"-"+path.Base(t.Name()))
	if e.before != nil {
		e.before(r)
	}
	if slices.Contains(e.where, "--nth") {
		times = nil // it is once by itself
	}
	r.mustRun(0, slices.Concat([]string{"lab", "fault", "set", fault}, times, e.where)...)

	began := time.Now()
	up := r.start("up", "--lab", "--yes")
	if e.during != nil {
		e.during(r, up)
	}
	first := up.wait()
	assert.Less(t, time.Since(began), faultBound, "it ends within a bound")
	assert.NotZero(t, r.occurred()[fault], "it did not occur")
	t.Logf("%s", first.output)
	assert.Equal(t, e.code, first.code)
	for _, part := range e.says {
		assert.Contains(t, first.output, part)
	}
	r.mustRun(0, "lab", "fault", "clear")

	r.eventually("the host answers", func() bool { _, err := r.api().Version(t.Context()); return err == nil })
	r.goesOn(first, e)
	r.endsWell()
}

// goesOn runs the commands of a failed run's message, without its fault.
func (r *rehearsal) goesOn(first result, e end) {
	r.t.Helper()
	if e.byHand != nil {
		e.byHand(r, first)
	}
	for _, pattern := range e.next {
		command := regexp.MustCompile(pattern).FindStringSubmatch(first.output)
		require.Len(r.t, command, 2, "no command like %s is named in:\n%s", pattern, first.output)
		r.mustRun(0, strings.Fields(command[1])...)
	}
	if first.code == 0 {
		return
	}
	again := r.run("up", "--lab", "--yes")
	if again.code != 0 && e.byHand != nil { // the first run named the control plane; the workers come after it
		e.byHand(r, again)
		again = r.run("up", "--lab", "--yes")
	}
	require.Equal(r.t, 0, again.code, "up, run again when the fault is gone:\n%s\n\nafter:\n%s", again.output, first.output)
}

// endsWell checks that the cluster matches the inventory, that a further run changes nothing, and that nothing is left over.
func (r *rehearsal) endsWell() {
	r.t.Helper()
	preview := r.run("preview", "--lab")
	require.Equal(r.t, 0, preview.code, "a preview in which something would change:\n%s", preview.output)
	require.Empty(r.t, r.pending())
	names := r.nodeNames()
	r.nodesAreReady(names...)
	for _, name := range names {
		require.False(r.t, r.isCordoned(name), "%s takes pods", name)
	}
	require.Empty(r.t, r.leftOver(names))
}

var nodeName = regexp.MustCompile(`name: (k3s-dev-[a-z0-9-]+)`)

// nodeNames returns the nodes of the inventory, in the order of Kubernetes.
func (r *rehearsal) nodeNames() []string {
	r.t.Helper()
	var names []string
	for _, found := range nodeName.FindAllStringSubmatch(r.inventoryText("nodes.yaml"), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return names
}

// leftOver returns what the host has beside the nodes: machines, locks, and volumes without a machine.
func (r *rehearsal) leftOver(names []string) []string {
	r.t.Helper()
	var left []string
	used := ""
	machines, err := r.host().VirtualMachines(r.t.Context())
	require.NoError(r.t, err)
	for _, listed := range machines {
		machine := r.machine(int(listed.VMID))
		used += fmt.Sprintf("%+v", *machine.VirtualMachineConfig)
		if !bool(machine.VirtualMachineConfig.Template) && !slices.Contains(names, machine.Name) {
			left = append(left, fmt.Sprintf("VM %d (%s)", machine.VMID, machine.Name))
		}
		if machine.Lock != "" {
			left = append(left, fmt.Sprintf("lock %s of VM %d", machine.Lock, machine.VMID))
		}
	}
	for _, name := range []string{"tank", "other"} {
		storage, err := r.host().Storage(r.t.Context(), name)
		if err != nil {
			continue // it is not in the inventory yet
		}
		content, err := storage.GetContent(r.t.Context())
		require.NoError(r.t, err)
		for _, volume := range content {
			if !strings.Contains(used, volume.Volid) {
				left = append(left, "volume "+volume.Volid)
			}
		}
	}
	return left
}
