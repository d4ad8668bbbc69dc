package lives_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/labstack"
	"github.com/em-infra/em-infra/tests/lives/history"
	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// life is a cluster with the history that runs on it.
type life struct {
	t     testing.TB
	lane  *lane
	stack labstack.Stack
	began time.Time

	site    site.Site
	cordons model.Cordons
	keeper  *model.Keeper
	gone    bool
	// disturbed is true if a fault or a kill left something behind that may stop an up.
	disturbed bool
	// pending are edits and manual changes since the last successful up; deleted is true if a control plane is among them.
	pending int
	deleted bool
	// armed are the disturbances of the next run.
	armed []history.Move
	// snapshots of etcd by their names.
	snapshots map[string]snapshot
	// restoring is true from the begin of a restore of etcd until it has ended, in this run or a later one.
	restoring bool
	// guarded is true while the Deployment with a PodDisruptionBudget exists. unsureOfGuarded is true if that may be wrong, after a destroy that did
	// not end or a restore of etcd.
	guarded, unsureOfGuarded bool
	// layers are the state of what is beside the cluster; nil without.
	layers *layers

	texts   map[string]string // that must hold no secret, by what they are
	log     []string
	found   []model.Violation
	secrets []string
}

func newLife(t testing.TB, l *lane) *life {
	f := &life{
		t: t, lane: l, stack: l.stack, began: time.Now(), site: site.New(l.topology),
		cordons: model.Cordons{}, keeper: model.NewKeeper(), snapshots: map[string]snapshot{}, texts: map[string]string{},
	}
	if l.topology.Layers {
		f.layers = newLayers(l.topology.ControlPlanes > 0)
	}
	f.gone = !f.site.HasCluster()
	return f
}

// failure describes how a life failed.
type failure struct {
	violations []model.Violation
	log        []string
	dir        string
}

func (f *failure) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "what happened (the lab is kept in %s):\n  %s\n", f.dir, strings.Join(f.log, "\n  "))
	for _, violation := range f.violations {
		fmt.Fprintf(&text, "VIOLATED %s\n", violation)
	}
	return text.String()
}

// play runs a history, and returns its failure; nil if it succeeded.
func play(t testing.TB, h history.History) *failure {
	t.Helper()
	lane := lanes.take(t, h.Topology)
	ended := false
	defer func() {
		lane.stop(t)
		if ended {
			lanes.giveBack(lane)
		}
	}()
	f := lane.comeBack(t)
	f.keeper.Remember(f.see())
	f.rememberLayers()
	f.secrets = f.secretsOfNodes()
	for n, move := range h.Moves {
		f.leaveCanary(n)
		f.keepGuarded()
		f.say("%s", move)
		f.do(move)
		if len(f.found) > 0 {
			break
		}
	}
	if len(f.found) == 0 {
		f.comesToRest()
	}
	tallied.add(h, time.Since(f.began))
	ended = true
	if len(f.found) == 0 {
		t.Logf("%s%s", h, strings.Join(f.log, "\n"))
		return nil
	}
	kept := f.keep()
	return &failure{violations: f.found, log: f.log, dir: kept}
}

// keep stores the evidence of a failed life, since the next one uses the lane's folder.
func (f *life) keep() string {
	checkout, err := filepath.Abs("../..")
	require.NoError(f.t, err)
	require.NoError(f.t, os.MkdirAll(filepath.Join(checkout, ".lab"), 0o700))
	dir, err := os.MkdirTemp(filepath.Join(checkout, ".lab"), "failed-life-")
	require.NoError(f.t, err)
	for _, of := range f.lane.dirs() {
		require.NoError(f.t, labstack.Copy(of, filepath.Join(dir, filepath.Base(of))))
	}
	for name, text := range f.texts {
		require.NoError(f.t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(name, "/", "-")+".txt"), []byte(text), 0o600))
	}
	return dir
}

// say logs an event, with the time since the life began.
func (f *life) say(format string, args ...any) {
	f.log = append(f.log, fmt.Sprintf("%6.1fs %s", time.Since(f.began).Seconds(), fmt.Sprintf(format, args...)))
}

func (f *life) violated(violations []model.Violation) { f.found = append(f.found, violations...) }

// writeInventory writes the current inventory.
func (f *life) writeInventory() {
	f.t.Helper()
	f.writeLayers()
	if !f.site.HasCluster() {
		return
	}
	cluster, err := f.site.ClusterFile()
	require.NoError(f.t, err)
	nodes, err := f.site.NodesFile()
	require.NoError(f.t, err)
	f.writeFiles(cluster, nodes)
}

func (f *life) writeFiles(cluster, nodes string) {
	f.t.Helper()
	for name, text := range map[string]string{"cluster.yaml": cluster, "nodes.yaml": nodes} {
		require.NoError(f.t, os.WriteFile(filepath.Join(f.stack.Inventory, name), []byte(text), 0o600))
	}
}

// do runs a move.
func (f *life) do(m history.Move) {
	f.t.Helper()
	if m.OfLayers() && f.doInLayers(m) {
		return
	}
	switch m.Verb {
	case history.Edit:
		f.edit(m)
	case history.Mistake:
		f.mistake(m)
	case history.Fault, history.Kill:
		f.armed = append(f.armed, m)
	case history.Hand:
		f.byHand(m)
	case history.Run:
		f.runs(m.What)
	}
}

func (f *life) runs(what string) {
	f.t.Helper()
	if !f.site.HasCluster() {
		f.say("  means nothing here")
		return
	}
	switch what {
	case "snapshot-etcd":
		f.takeSnapshot()
	case "restore-etcd":
		f.restoreEtcd()
	case "adopt":
		f.adopt()
	case "restore-oldest":
		if _, found := f.oldestBackup(); !found {
			f.say("  means nothing here")
			return
		}
		f.run(what)
	default:
		f.run(what)
	}
}

func (f *life) edit(m history.Move) {
	f.t.Helper()
	after, means := f.site.Apply(site.Edit{What: m.What, Node: m.Node, Number: m.Number})
	if !means {
		f.say("  means nothing here")
		return
	}
	f.site = after
	f.pending++
	f.writeInventory()
}

// mistake runs up with an inventory that must be refused.
func (f *life) mistake(m history.Move) {
	f.t.Helper()
	wrong, err := site.Mistakes[m.What](f.site)
	require.NoError(f.t, err)
	if !wrong.Made || f.gone {
		f.say("  means nothing here")
		return
	}
	f.writeFiles(wrong.Cluster, wrong.Nodes)
	r := f.started("mistake", f.em("up", "--lab", "--yes")).wait(nil)
	f.writeInventory()
	f.judge(r)
}
