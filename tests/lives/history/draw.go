package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// Topologies are the initial clusters of lives. Each is created once, and copied.
var Topologies = []site.Topology{
	{ControlPlanes: 1, Workers: 1, Hosts: 1},
	{ControlPlanes: 1, Workers: 2, Hosts: 1, DataDisks: true, SecondCards: true},
	{ControlPlanes: 3, Workers: 1, Hosts: 1},
	{ControlPlanes: 1, Workers: 2, Hosts: 2},
	{ControlPlanes: 3, Workers: 2, Hosts: 3, Shared: true},
	{ControlPlanes: 1, Workers: 1, GPUWorkers: 1, Hosts: 1},
	{ControlPlanes: 1, Workers: 1, Hosts: 1, DualStack: true},
	{ControlPlanes: 1, Workers: 1, Hosts: 1, Addons: true},
}

// Draw returns the history of a seed. The same seed and number of moves have the same history.
func Draw(seed uint64, moves int) History {
	random := rand.New(rand.NewPCG(seed, 13)) //nolint:gosec // no secret depends on it
	h := History{Topology: Topologies[random.IntN(len(Topologies))]}
	d := drawer{Rand: random, site: site.New(h.Topology)}
	for range moves {
		h.Moves = append(h.Moves, d.move())
	}
	return h
}

// drawer draws moves that are valid for the current inventory.
type drawer struct {
	*rand.Rand
	site site.Site
	// waiting are moves that the next run executes, or that disturb it.
	waiting, disturbed int
}

// move returns the next move. A disturbance comes after a change for the run; the more changes wait, the likelier is a run.
func (d *drawer) move() Move {
	if d.disturbed > 0 && d.IntN(4) > 0 {
		return d.run(true)
	}
	switch n := d.IntN(100); {
	case n < 12*d.waiting+6:
		return d.run(d.disturbed > 0)
	case d.waiting > 0 && n < 12*d.waiting+36:
		d.disturbed++
		return d.disturbance()
	case n < 82:
		d.waiting++
		return d.edit()
	case n < 95:
		d.waiting++
		return d.hand()
	default:
		return Move{Verb: Mistake, What: pick(d.Rand, slices.Sorted(maps.Keys(site.Mistakes)))}
	}
}

// run is mostly an up; a disturbed run always changes something.
func (d *drawer) run(changes bool) Move {
	what := "up"
	if n := d.IntN(100); n < 6 {
		what = "pulumi"
	} else if n < 10 {
		what = "until-provision"
	} else if n < 13 {
		what = "until-bootstrap"
	} else if n < 15 {
		what = "destroy"
	} else if n < 17 && !changes {
		what = "restore-oldest"
	} else if n < 20 && !changes {
		what = "snapshot-etcd"
	} else if n < 24 {
		what = "restore-etcd"
	} else if n < 26 {
		what = "adopt"
	} else if n < 36 && !changes {
		what = pick(d.Rand, []string{"preview", "status", "drift", "only-verify", "only-bootstrap"})
	}
	if !slices.Contains([]string{"preview", "status", "drift", "only-verify", "restore-oldest", "snapshot-etcd", "adopt"}, what) {
		d.waiting, d.disturbed = 0, 0
	}
	return Move{Verb: Run, What: what}
}

// disturbance returns a fault at one of the first occasions, or a kill at a call that an up makes.
func (d *drawer) disturbance() Move {
	if d.IntN(2) == 0 {
		return Move{Verb: Fault, What: pick(d.Rand, Faults), Number: 1 + d.IntN(3)}
	}
	return Move{Verb: Kill, What: pick(d.Rand, Victims), Number: 1 + d.IntN(callsOfARun)}
}

// callsOfARun is how many calls of the host a short run makes, about.
const callsOfARun = 90

func (d *drawer) edit() Move {
	m := d.anyEdit()
	after, means := d.site.Apply(site.Edit{What: m.What, Node: m.Node, Number: m.Number})
	if !means {
		return d.edit() // e.g. a data disk of a control plane
	}
	d.site = after
	return m
}

func (d *drawer) anyEdit() Move {
	m := Move{Verb: Edit, What: pick(d.Rand, slices.Sorted(maps.Keys(site.Edits)))}
	switch m.What {
	case "memory":
		m.Number = 4096 + 512*(1+d.IntN(4))
	case "cores":
		m.Number = 2 + d.IntN(4) // a control plane needs two
	case "disk", "data-disk-grows":
		m.Number = 1 + d.IntN(4)
	case "data-disk":
		m.Number = 5 + d.IntN(10)
	case "host":
		m.Number = 1 + d.IntN(d.site.Topology.Hosts)
	case "control-planes":
		m.Number = 1 + 2*d.IntN(2)
	case "talos":
		m.Number = d.site.Talos + 1 + d.IntN(3)
	case "kubernetes":
		m.Number = d.site.Kubernetes + 1 + d.IntN(3)
	default:
		m.Number = 10 + d.IntN(50)
	}
	if !site.Edits[m.What].Numbered {
		m.Number = 0
	}
	switch {
	case m.What == "add":
		m.Node = fmt.Sprintf("worker-%d", 1+d.IntN(6))
	case site.Edits[m.What].OfNode:
		m.Node = pick(d.Rand, d.site.Names(""))
	}
	return m
}

// hand does a manual change that the next up reverts. The only control plane is never deleted, since that cannot be reverted.
func (d *drawer) hand() Move {
	m := Move{Verb: Hand, What: pick(d.Rand, slices.Sorted(maps.Keys(Hands))), Node: pick(d.Rand, d.site.Names(""))}
	if Hands[m.What] {
		m.Number = 2048 + 256*d.IntN(4)
	}
	n, _ := d.site.Find(m.Node)
	switch {
	case m.What == "delete" && n.Role == site.ControlPlane:
		m.What = "stop"
	case m.What == "migrate" && (!d.site.Topology.Shared || n.Role == site.GPUWorker), m.What == "unplug" && len(n.DataDisks) == 0:
		return d.hand()
	case m.What == "migrate":
		m.Number = 1 + d.IntN(d.site.Topology.Hosts)
	}
	return m
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
