package history

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// LayerRuns are runs of the layers beside the cluster, and of all stacks.
var LayerRuns = []string{
	"hosts-up", "hosts-preview", "hosts-status", "hosts-drift", "hosts-pulumi",
	"systems-up", "systems-preview", "systems-status", "systems-drift", "systems-pulumi",
	"site-up", "site-preview", "site-status",
}

// LayerFaults are faults that the layers meet.
var LayerFaults = []string{
	"storage-inactive", "reload-fails", "slow-reload",
	"nas-connection-cut", "nas-too-many-calls", "nas-login-rate-limit", "nas-wrong-key", "nas-key-expired", "nas-dataset-locked",
	"nas-pool-full", "nas-dataset-busy", "nas-job-failed", "nas-service-does-not-start", "nas-only-rest",
}

// LayerHands are what people do to the layers, and whether a system and a number are needed.
var LayerHands = map[string]struct{ OfSystem, Numbered bool }{
	"stop-system": {true, false}, "delete-system": {true, false}, "memory-of-system": {true, true}, "snapshot-system": {true, true},
	"remove-snapshots": {true, false},
	"bridge-mtu":       {false, true}, "stage-bridge": {false, true}, "storage-content": {false, false}, "delete-storage": {false, false},
	"keyboard": {false, false}, "job-schedule": {false, true}, "delete-user": {false, false}, "foreign-pool": {false, true},
	"dataset-quota": {false, true}, "child-dataset": {false, true}, "delete-dataset": {false, false}, "delete-share": {false, false},
}

// HandsOfTheNAS take a cluster with storage.
var HandsOfTheNAS = []string{"dataset-quota", "child-dataset", "delete-dataset", "delete-share"}

// formOfLayers is formOf for the moves of layers.
func formOfLayers(verb Verb, what string) (form, bool) {
	switch verb {
	case Edit:
		change, known := site.LayerEdits[what]
		return form{change.OfSystem, change.Numbered}, known
	case Mistake:
		_, known := site.LayerMistakes[what]
		return form{}, known
	case Run:
		return form{}, slices.Contains(LayerRuns, what)
	case Fault:
		return form{numbered: true}, slices.Contains(LayerFaults, what)
	case Hand:
		hand, known := LayerHands[what]
		return form{hand.OfSystem, hand.Numbered}, known
	}
	return form{}, false
}

// OfLayers reports whether a move concerns the layers beside the cluster.
func (m Move) OfLayers() bool {
	_, known := formOfLayers(m.Verb, m.What)
	return known
}

// LayerTopologies are the initial sites of lives with layers.
var LayerTopologies = []site.Topology{
	{Hosts: 1, Layers: true},
	{ControlPlanes: 1, Workers: 1, Hosts: 1, Layers: true},
}

// DrawWithLayers returns the history of a seed for a site with layers. It is drawn from another stream than [Draw], whose histories stay as
// they are. Beside a cluster, one move of three is of the cluster.
func DrawWithLayers(seed uint64, moves int) History {
	random := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // no secret depends on it
	h := History{Topology: LayerTopologies[random.IntN(len(LayerTopologies))]}
	d := layerDrawer{drawer: drawer{Rand: random, site: site.New(h.Topology)}}
	for range moves {
		h.Moves = append(h.Moves, d.move())
	}
	return h
}

// layerDrawer draws moves for a site with layers.
type layerDrawer struct {
	drawer
	// waits are the layers with changes that the next run of each carries out.
	waits []site.Layer
}

func (d *layerDrawer) move() Move {
	if d.site.HasCluster() && d.IntN(3) == 0 {
		return d.drawer.move()
	}
	if d.disturbed > 0 && d.IntN(4) > 0 {
		return d.runOfALayer()
	}
	switch n := d.IntN(100); {
	case n < 14*len(d.waits)+4:
		return d.runOfALayer()
	case len(d.waits) > 0 && n < 14*len(d.waits)+36:
		d.disturbed++
		return d.disturbanceOfALayer()
	case n < 72:
		return d.editOfALayer()
	case n < 93:
		return d.handOfALayer()
	default:
		return Move{Verb: Mistake, What: pick(d.Rand, slices.Sorted(maps.Keys(site.LayerMistakes)))}
	}
}

// runOfALayer is mostly an up of a layer where something waits.
func (d *layerDrawer) runOfALayer() Move {
	what := pick(d.Rand, LayerRuns)
	if n := d.IntN(100); len(d.waits) > 0 && n < 60 {
		if what = string(d.waits[0]) + "-up"; d.waits[0] == site.ClusterLayer {
			what = "up"
		}
	} else if n < 75 {
		what = "site-up"
	}
	switch what {
	case "site-up":
		d.waits, d.disturbed = nil, 0
	case "hosts-up", "hosts-pulumi":
		d.carriedOut(site.HostsLayer)
	case "systems-up", "systems-pulumi":
		d.carriedOut(site.SystemsLayer)
	case "up":
		d.carriedOut(site.ClusterLayer)
	}
	return Move{Verb: Run, What: what}
}

func (d *layerDrawer) carriedOut(layer site.Layer) {
	d.waits, d.disturbed = slices.DeleteFunc(d.waits, func(l site.Layer) bool { return l == layer }), 0
}

func (d *layerDrawer) wait(layer site.Layer) {
	if !slices.Contains(d.waits, layer) {
		d.waits = append(d.waits, layer)
	}
}

// callsOfALayer is how many calls of the host a run of a layer makes, about.
const callsOfALayer = 50

// disturbanceOfALayer is a fault of the layers or of the host, or a kill.
func (d *layerDrawer) disturbanceOfALayer() Move {
	switch d.IntN(4) {
	case 0:
		return Move{Verb: Fault, What: pick(d.Rand, LayerFaults), Number: 1 + d.IntN(2)}
	case 1:
		return Move{Verb: Fault, What: pick(d.Rand, Faults), Number: 1 + d.IntN(3)}
	default:
		return Move{Verb: Kill, What: pick(d.Rand, Victims), Number: 1 + d.IntN(callsOfALayer)}
	}
}

// numberOfALayer is above the tags of the cluster's networks.
func (d *layerDrawer) numberOfALayer(what string) int {
	switch what {
	case "systems-disk":
		return 1 + d.IntN(4)
	case "hosts-vlan":
		return 30 + d.IntN(4)
	case "hosts-storage", "hosts-pool", "hosts-user", "storage-dataset", "child-dataset", "foreign-pool", "snapshot-system":
		return 1 + d.IntN(3)
	case "bridge-mtu":
		return 1500 + 100*d.IntN(20)
	case "stage-bridge":
		return 9
	default:
		return d.IntN(50)
	}
}

func (d *layerDrawer) editOfALayer() Move {
	m := Move{Verb: Edit, What: pick(d.Rand, slices.Sorted(maps.Keys(site.LayerEdits)))}
	change := site.LayerEdits[m.What]
	if change.Numbered {
		m.Number = d.numberOfALayer(m.What)
	}
	switch {
	case m.What == "systems-add":
		m.Node = fmt.Sprintf("%s-%d", pick(d.Rand, []string{"vm", "ct"}), 1+d.IntN(3))
	case change.OfSystem && len(d.site.Layers.Systems.Items) > 0:
		m.Node = pick(d.Rand, d.site.Layers.Systems.Names())
	}
	after, means := d.site.ApplyToLayers(site.Edit{What: m.What, Node: m.Node, Number: m.Number})
	if !means {
		return d.editOfALayer()
	}
	d.site = after
	d.wait(change.Layer)
	return m
}

func (d *layerDrawer) handOfALayer() Move {
	m := Move{Verb: Hand, What: pick(d.Rand, slices.Sorted(maps.Keys(LayerHands)))}
	hand, ofTheNAS := LayerHands[m.What], slices.Contains(HandsOfTheNAS, m.What)
	if ofTheNAS && !d.site.HasCluster() || hand.OfSystem && len(d.site.Layers.Systems.Items) == 0 {
		return d.handOfALayer()
	}
	if hand.Numbered {
		m.Number = d.numberOfALayer(m.What)
	}
	switch {
	case hand.OfSystem:
		m.Node = pick(d.Rand, d.site.Layers.Systems.Names())
		d.wait(site.SystemsLayer)
	case ofTheNAS:
		d.wait(site.ClusterLayer)
	default:
		d.wait(site.HostsLayer)
	}
	return m
}
