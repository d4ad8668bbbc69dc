package bench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/tests/labstack"
)

// The cluster of BenchmarkUpgrade, and the time scale of its lab. A node must be ready for a second before the next one goes, which is
// the default of ten seconds on that scale.
const (
	upgradedControlPlanes = 3
	upgradedWorkers       = 5
	upgradeScale          = 0.1
	upgradeMinReady       = time.Second
	upgradeGoal           = 1.2
)

// BenchmarkUpgrade upgrades Talos on all nodes of a cluster, and compares the time that they took, from the first download of the image
// to the end of the command, with what they had to wait for one after another: the delays of the lab and minReadySeconds. A ratio that is
// over its goal fails it. What precedes the nodes, a plan, the new image and its template, takes the same time for any number of them.
//
//	go test ./tests/bench -run XXX -bench Upgrade -benchtime 1x -timeout 30m
func BenchmarkUpgrade(b *testing.B) {
	const nodes = upgradedControlPlanes + upgradedWorkers
	delays := time.Duration(nodes * upgradeScale * float64(upgradeDelays(talos.AssumedDurations())))
	for b.Loop() {
		s := newStack(b, nodes)
		writeTopology(b, s.Inventory, upgradedControlPlanes, upgradedWorkers)
		s.edit(b, "defaults:", fmt.Sprintf("upgrade: {minReadySeconds: %.0f}\ndefaults:", upgradeMinReady.Seconds()))
		s.run(b, "lab", "start", "--time-scale", fmt.Sprint(upgradeScale))
		s.run(b, "up", "--yes", "--lab")
		s.edit(b, "version: v1.12.4", "version: v1.12.11")
		began := time.Now()
		up := s.measure(b, "up", "--yes")
		lane := began.Add(up.wall).Sub(s.firstStep(b, began))
		ratio := lane.Seconds() / (delays + nodes*upgradeMinReady).Seconds()
		b.Logf("%d nodes: %.1f s, of which the nodes took %.1f s; the delays of the lab are %.1f s, minReadySeconds %.1f s, ratio %.2f\n%s\n%s",
			nodes, up.wall.Seconds(), lane.Seconds(), delays.Seconds(), (nodes * upgradeMinReady).Seconds(), ratio, heading, up)
		b.ReportMetric(ratio, "x-waits")
		b.ReportMetric(up.wall.Seconds()/delays.Seconds(), "command-x-delays")
		if ratio > upgradeGoal {
			b.Errorf("the upgrade of %d nodes takes %.2f times what they have to wait for, more than %.1f", nodes, ratio, upgradeGoal)
		}
	}
}

// firstStep returns when the lab began the first delay of a node after a time.
func (s stack) firstStep(b *testing.B, since time.Time) time.Time {
	b.Helper()
	lines, err := labstack.NodeLog(s.Dir(), since)
	require.NoError(b, err)
	first := slices.IndexFunc(lines, func(l labstack.NodeLine) bool { return l.Step != "" })
	require.GreaterOrEqual(b, first, 0, "a node did something")
	return lines[first].Time
}

// upgradeDelays are the delays of one node: its image is pulled, what runs is stopped, the disk is written, and it boots to a kubelet.
func upgradeDelays(d talos.Durations) time.Duration {
	return d.Stop + d.Install + d.Reboot + d.Services + d.Kubelet // the pull is a part of the installation
}

// edit replaces a text in cluster.yaml.
func (s stack) edit(b *testing.B, from, to string) {
	b.Helper()
	path := filepath.Join(s.Inventory, "cluster.yaml")
	text, err := os.ReadFile(path)
	require.NoError(b, err)
	require.Contains(b, string(text), from)
	require.NoError(b, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o600))
}
