package model

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// layers are the stacks of a site, the lowest first.
var layers = []site.Layer{site.HostsLayer, site.SystemsLayer, site.ClusterLayer}

// LayersOf returns the layers that a run is of or depends on; its own is the last. A run of the whole site ends with the cluster.
func LayersOf(what string) []site.Layer {
	switch layer, _, _ := strings.Cut(what, "-"); layer {
	case "hosts":
		return layers[:1]
	case "systems":
		return layers[:2]
	}
	return layers
}

// OwnLayer returns the highest layer that a run is of.
func OwnLayer(what string) site.Layer {
	all := LayersOf(what)
	return all[len(all)-1]
}

// ofWholeSite reports whether a run is one of all stacks.
func ofWholeSite(what string) bool { return strings.HasPrefix(what, "site-") }

// Leftovers are what may be in the way of the runs of a site with layers.
type Leftovers struct {
	// Staged is true while another user has staged an interface of the host.
	Staged             bool
	exist              []site.Layer
	pending, disturbed map[site.Layer]bool
}

// NewLeftovers returns none, for a site with or without a cluster.
func NewLeftovers(hasCluster bool) *Leftovers {
	l := &Leftovers{exist: layers, pending: map[site.Layer]bool{}, disturbed: map[site.Layer]bool{}}
	if !hasCluster {
		l.exist = layers[:2]
	}
	return l
}

// Wait records an edit or a manual change that the next up of a layer carries out.
func (l *Leftovers) Wait(layer site.Layer) { l.pending[layer] = true }

// Waits reports whether there is one.
func (l *Leftovers) Waits(layer site.Layer) bool { return l.pending[layer] }

// Disturb records that a fault or a kill hit a run: it may have left something behind in the stack of the run, and in no other one.
func (l *Leftovers) Disturb(what string) {
	for _, layer := range l.exist {
		if layer == OwnLayer(what) || ofWholeSite(what) {
			l.disturbed[layer] = true
		}
	}
}

// Cleared records that an up of these layers succeeded.
func (l *Leftovers) Cleared(which ...site.Layer) {
	for _, layer := range which {
		l.pending[layer], l.disturbed[layer] = false, false
	}
}

// Excuse reports whether something may be in the way of a run: what was left in its own layer or a lower one, or what waits for an up of a
// lower one. A run of the whole site, and of the engine alone, carries out no plan that takes a consent. A staged interface is in the way of
// the stack of hosts alone.
func (l *Leftovers) Excuse(what string) bool {
	own := OwnLayer(what)
	for _, layer := range LayersOf(what) {
		waits := l.pending[layer] && (layer != own || ofWholeSite(what) || strings.HasSuffix(what, "pulumi"))
		if l.disturbed[layer] || waits {
			return true
		}
	}
	return l.Staged && (own == site.HostsLayer || ofWholeSite(what))
}

// planned are the runs that carry out a plan, by which a stack may delete what its inventory no longer has.
var planned = []string{"up", "pulumi", "until-provision", "until-bootstrap", "destroy"}

// carriesOut reports whether a run carries out the plan of a cluster.
func carriesOut(what string) bool {
	return OwnLayer(what) == site.ClusterLayer && slices.Contains(planned, verbOf(what))
}
