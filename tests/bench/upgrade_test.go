package bench_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// The cluster of BenchmarkUpgrade, and the time scale of its lab. A node must be ready for a second before the next one goes, which is
// the default of ten seconds on that scale.
const (
	upgradedControlPlanes = 3
	upgradedWorkers       = 5
	upgradeScale          = 0.1
	upgradeGoal           = 1.2
)

// BenchmarkUpgrade upgrades Talos on all nodes of a cluster, and compares how long it takes with the delays of the lab, which follow
// each other along the lane. A ratio that is over its goal fails it.
//
//	go test ./tests/bench -run XXX -bench Upgrade -benchtime 1x -timeout 30m
func BenchmarkUpgrade(b *testing.B) {
	const nodes = upgradedControlPlanes + upgradedWorkers
	delays := time.Duration(nodes * upgradeScale * float64(upgradeDelays(talos.AssumedDurations())))
	for b.Loop() {
		s := newStack(b, nodes)
		writeTopology(b, s.Inventory, upgradedControlPlanes, upgradedWorkers)
		s.edit(b, "defaults:", "upgrade: {minReadySeconds: 1}\ndefaults:")
		s.run(b, "lab", "start", "--time-scale", "0.1")
		s.run(b, "up", "--yes", "--lab")
		s.edit(b, "version: v1.12.4", "version: v1.12.11")
		up := s.measure(b, "up", "--yes")
		ratio := up.wall.Seconds() / delays.Seconds()
		b.Logf("%d nodes: %.1f s, the delays of the lab are %.1f s, ratio %.2f\n%s\n%s", nodes, up.wall.Seconds(), delays.Seconds(), ratio, heading, up)
		b.ReportMetric(ratio, "x-delays")
		if ratio > upgradeGoal {
			b.Errorf("an upgrade of %d nodes takes %.2f times the delays of the lab, more than %.1f", nodes, ratio, upgradeGoal)
		}
	}
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
