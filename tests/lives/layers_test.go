package lives_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// layers are the state of what a life has beside its cluster.
type layers struct {
	keeper    *model.Keeper
	datasets  *model.DatasetKeeper
	leftovers *model.Leftovers
	// What was made by hand: resource pools, datasets, and snapshots by the names of their systems.
	pools, madeDatasets []string
	snapshots           map[string][]string
}

func newLayers(hasCluster bool) *layers {
	return &layers{
		keeper: model.NewKeeper(), datasets: model.NewDatasetKeeper(), leftovers: model.NewLeftovers(hasCluster), snapshots: map[string][]string{},
	}
}

// writeLayers writes the inventories of the layers.
func (f *life) writeLayers() {
	f.t.Helper()
	if f.layers == nil {
		return
	}
	hosts, err := f.site.Layers.HostsFile()
	require.NoError(f.t, err)
	systems, err := f.site.Layers.SystemsFile()
	require.NoError(f.t, err)
	f.writeLayer(site.HostsLayer, hosts)
	f.writeLayer(site.SystemsLayer, systems)
}

func (f *life) writeLayer(layer site.Layer, text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.lane.beside[layer].Inventory, string(layer)+".yaml"), []byte(text), 0o600))
}

// doInLayers does a move of the layers; false for a move that a site without layers has, too.
func (f *life) doInLayers(m history.Move) bool {
	f.t.Helper()
	switch {
	case m.Verb == history.Fault || m.Verb == history.Kill:
		return false
	case f.layers == nil:
		f.say("  means nothing here")
	case m.Verb == history.Edit:
		f.editLayers(m)
	case m.Verb == history.Mistake:
		f.mistakeInLayers(m)
	case m.Verb == history.Hand:
		f.byHandInLayers(m)
	default:
		f.run(m.What)
	}
	return true
}

func (f *life) editLayers(m history.Move) {
	f.t.Helper()
	after, means := f.site.ApplyToLayers(site.Edit{What: m.What, Node: m.Node, Number: m.Number})
	if !means {
		f.say("  means nothing here")
		return
	}
	f.site = after
	f.isPending(site.LayerEdits[m.What].Layer)
	f.writeInventory()
}

// isPending has the next up of a layer change something.
func (f *life) isPending(layer site.Layer) {
	f.layers.leftovers.Wait(layer)
	if layer == site.ClusterLayer {
		f.pending++
	}
}

// mistakeInLayers runs up with an inventory that must be refused. What is wrong may depend on what is there, so nothing may be pending.
func (f *life) mistakeInLayers(m history.Move) {
	f.t.Helper()
	wrong, err := site.LayerMistakes[m.What](f.site)
	require.NoError(f.t, err)
	if !wrong.Made || f.layers.leftovers.Waits(wrong.Layer) || f.layers.leftovers.Excuse(string(wrong.Layer)+"-up") {
		f.say("  means nothing here")
		return
	}
	f.writeLayer(wrong.Layer, wrong.Text)
	r := f.started("mistake", f.emOn(wrong.Layer, "up", "--lab", "--yes")).wait(nil)
	f.writeInventory()
	f.judge(r)
}

// seeNAS reads the state of the box; one without a cluster is empty.
func (f *life) seeNAS() model.NAS {
	f.t.Helper()
	text, err := f.labFile("nas.json")
	if errors.Is(err, fs.ErrNotExist) {
		return model.NAS{}
	}
	require.NoError(f.t, err)
	seen, err := model.ReadNAS(text)
	require.NoError(f.t, err)
	return seen
}

// seeHostSettings reads what a stack of hosts configures.
func (f *life) seeHostSettings() model.HostSettings {
	f.t.Helper()
	text, err := f.labFile("host.json")
	require.NoError(f.t, err)
	seen, err := model.ReadHostSettings(text)
	require.NoError(f.t, err)
	var pools []struct {
		PoolID string `json:"poolid"`
	}
	f.eventually("the host answers", func() bool {
		pools = nil
		return f.api().Get(f.t.Context(), "/pools", &pools) == nil
	})
	for _, pool := range pools {
		seen.Pools = append(seen.Pools, pool.PoolID)
	}
	return seen
}

// layersWhole returns what is not as the inventories of these layers say.
func (f *life) layersWhole(which ...site.Layer) (left []model.Violation) {
	f.t.Helper()
	if slices.Contains(which, site.HostsLayer) {
		left = append(left, model.HostsWhole(f.site.Layers.Hosts, f.layers.pools, f.seeHostSettings())...)
	}
	if slices.Contains(which, site.SystemsLayer) {
		left = append(left, model.SystemsWhole(f.site.Layers.Systems, f.layers.snapshots, f.see().Systems)...)
	}
	if slices.Contains(which, site.ClusterLayer) && f.site.HasCluster() {
		left = append(left, model.StorageWhole(f.site.Layers.Storage, f.layers.datasets.Deletes(), f.seeNAS())...)
	}
	return left
}

// holdsLayers checks the layers after a run.
func (f *life) holdsLayers(what string, r model.Run) {
	f.t.Helper()
	if f.layers == nil {
		return
	}
	f.nothingOfLayersIsLost()
	ofRun := model.LayersOf(what)
	switch {
	case r.Code != 0 || r.Killed:
		return
	case what == "site-up":
	case what == "up" || strings.HasSuffix(what, "-up"):
		ofRun = ofRun[len(ofRun)-1:]
	default:
		return
	}
	f.layers.leftovers.Cleared(ofRun...)
	tallied.checked(model.Whole)
	f.settles(patience, func() []model.Violation { return f.layersWhole(ofRun...) })
	if slices.Contains(ofRun, site.ClusterLayer) && f.site.HasCluster() {
		f.layers.datasets.Whole(f.site.Layers.Storage)
	}
	f.rememberLayers()
}

// rememberLayers records what must not be lost from now on.
func (f *life) rememberLayers() {
	f.t.Helper()
	if f.layers == nil {
		return
	}
	f.layers.keeper.Remember(f.seeSystems())
	f.layers.datasets.Remember(f.seeNAS())
}

// seeSystems returns the systems as machines.
func (f *life) seeSystems() model.Seen {
	f.t.Helper()
	return model.Seen{Host: model.Host{Machines: f.see().Systems}}
}

func (f *life) nothingOfLayersIsLost() {
	f.t.Helper()
	tallied.checked(model.Kept)
	f.settles(moment, func() []model.Violation {
		lost := append(f.layers.keeper.Lost(f.seeSystems()), f.layers.datasets.Lost(f.seeNAS())...)
		return append(lost, model.HostKept(f.layers.pools, f.seeHostSettings())...)
	})
}

// secretsOfLayers returns the secrets of the tokens that the stack of hosts has made, and the keys of the NAS.
func (f *life) secretsOfLayers() []string {
	f.t.Helper()
	if f.layers == nil {
		return nil
	}
	secrets := f.seeHostSettings().Secrets
	if key := f.description().NASKey; key != "" {
		secrets = append(secrets, key)
	}
	text, err := f.labFile("nas.json")
	if errors.Is(err, fs.ErrNotExist) {
		return secrets
	}
	require.NoError(f.t, err)
	var box struct {
		Keys map[string]string `json:"keys"`
	}
	require.NoError(f.t, json.Unmarshal(text, &box))
	for _, key := range box.Keys {
		secrets = append(secrets, key)
	}
	return secrets
}
