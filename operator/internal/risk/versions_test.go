package risk_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/versions"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

func version(t *testing.T, text string) versions.Version {
	t.Helper()
	parsed, err := versions.Parse(text)
	require.NoError(t, err)
	return parsed
}

func running(t *testing.T, talos, kubernetes string, names ...string) []versions.Node {
	t.Helper()
	var nodes []versions.Node
	for _, name := range names {
		nodes = append(nodes, versions.Node{Name: name, State: versions.State{Talos: version(t, talos), Kubernetes: version(t, kubernetes)}})
	}
	return nodes
}

// from12To returns an assessment of three nodes that go from v1.12.4 to another version.
func from12To(to string) risk.Assessment {
	return assess(slices.Concat(
		upgraded("cp-1", "control-plane", 101, schematicA+":v1.12.4", schematicA+":"+to),
		upgraded("w-1", "worker", 111, schematicA+":v1.12.4", schematicA+":"+to),
		upgraded("w-2", "worker", 112, schematicA+":v1.12.4", schematicA+":"+to),
	)...)
}

func TestAVersionThatCannotComeNextIsRefused(t *testing.T) {
	t.Parallel()
	nodes := running(t, "v1.12.4", "v1.35.4", "cp-1", "w-1", "w-2")
	skip := risk.Permission{Flag: risk.FlagVersionSkip}

	a := from12To("v1.12.11")
	a.JudgeVersions(nodes, versions.State{Talos: version(t, "v1.12.11"), Kubernetes: version(t, "v1.35.4")}, versions.Traits{})
	require.Empty(t, a.Refusal(nil))

	a = from12To("v1.13.9")
	a.JudgeVersions(nodes, versions.State{Talos: version(t, "v1.13.9"), Kubernetes: version(t, "v1.35.4")}, versions.Traits{})
	require.Equal(t, "refused: say --allow-version-skip to go on, or go talos.version v1.12.11 → talos.version v1.13.9, with an up after each", a.Refusal(nil))
	require.Empty(t, a.Refusal([]risk.Permission{skip}))
	require.Contains(t, written(t, a), ` UPGRADE  talos.version  Talos v1.12.4 → v1.13.9 leaves out v1.12.11, the latest of v1.12 (cp-1, w-1, w-2 run v1.12.4)
          its installer takes that step, but Talos tests upgrades only between adjacent minor releases and over the latest patch release of each
 UPGRADE  cp-1           Talos v1.12.4 → v1.13.9 (drain, reboot, about 3 min)
`)

	a = from12To("v1.12.4")
	a.JudgeVersions(nodes, versions.State{Talos: version(t, "v1.12.4"), Kubernetes: version(t, "v1.34.1")}, versions.Traits{})
	require.Equal(t, "refused: set kubernetes.version to v1.35.4 or later", a.Refusal([]risk.Permission{skip}), "no flag allows a downgrade")

	a = from12To("v1.14.1")
	a.JudgeVersions(nodes, versions.State{Talos: version(t, "v1.14.1"), Kubernetes: version(t, "v1.37.0")}, versions.Traits{})
	require.Equal(t, "refused: go talos.version v1.12.11 → talos.version v1.13.9 → kubernetes.version v1.36.3 → talos.version v1.14.1 → kubernetes.version v1.37.0, with an up after each",
		a.Refusal([]risk.Permission{skip}), "one way for both keys")
}

// A node that was upgraded by hand, and that the run leaves as it is, stops nothing.
func TestOnlyNodesThatAreUpgradedAreJudged(t *testing.T) {
	t.Parallel()
	nodes := append(running(t, "v1.12.4", "v1.35.4", "cp-1", "w-1"), running(t, "v1.13.9", "v1.35.4", "w-2")...)
	wanted := versions.State{Talos: version(t, "v1.12.11"), Kubernetes: version(t, "v1.35.4")}
	a := assess(slices.Concat(
		upgraded("cp-1", "control-plane", 101, schematicA+":v1.12.4", schematicA+":v1.12.11"), same("w-1", "worker", 111), same("w-2", "worker", 112),
	)...)
	a.JudgeVersions(nodes, wanted, versions.Traits{})
	require.Empty(t, a.Refusal(nil))

	a = assess(same("cp-1", "control-plane", 101)...)
	a.JudgeVersions(nodes, wanted, versions.Traits{DevicePlugin: true})
	require.Equal(t, "nothing would change\n", written(t, a), "nothing is said of releases that do not come")
}

// What the nodes run decides, not what the state remembers.
func TestTheAnswerOfANodeCounts(t *testing.T) {
	t.Parallel()
	events := upgraded("w-1", "worker", 111, schematicA+":v1.12.4", schematicA+":v1.13.9")
	seen := func(talos, schematic string) risk.Seen {
		return risk.Seen{Images: map[string]risk.Image{"w-1": {Talos: version(t, talos), Schematic: schematic}}}
	}
	require.Equal(t, " UPGRADE  w-1  Talos v1.12.11 → v1.13.9 (drain, reboot, about 3 min)\n", written(t, assessWith(seen("v1.12.11", schematicA), events...)))
	require.Equal(t, "only what the engine notes for itself would change: components, providers, checks\n",
		written(t, assessWith(seen("v1.13.9", schematicA), events...)), "it was upgraded already: its command calls nothing")
	require.Equal(t, " UPGRADE  w-1  Talos v1.13.9, schematic none → 376567988ad3 (drain, reboot, about 3 min)\n", written(t, assessWith(seen("v1.13.9", ""), events...)))
}

// The name of a copy of an image contains no schematic, and a node that runs it reports one.
func TestACopyOfAnImageIsJudgedByItsVersion(t *testing.T) {
	t.Parallel()
	seen := risk.Seen{Images: map[string]risk.Image{"w-1": {Talos: version(t, "v1.12.4"), Schematic: schematicA}}}
	require.Equal(t, "only what the engine notes for itself would change: components, providers, checks\n",
		written(t, assessWith(seen, upgraded("w-1", "worker", 111, "v1.12.3", "copy:v1.12.4")...)))
	newer := upgraded("w-1", "worker", 111, "copy:v1.12.4", "copy:v1.12.11")
	require.Equal(t, " UPGRADE  w-1  Talos v1.12.4 → v1.12.11 (drain, reboot, about 3 min)\n", written(t, assessWith(seen, newer...)))
	require.Equal(t, " UPGRADE  w-1  to Talos v1.12.11, unless it runs that already (drain, reboot, about 3 min)\n",
		written(t, assess(upgraded("w-1", "worker", 111, "", "copy:v1.12.11")...)))
}

// Where no node answers, the state's versions are judged.
func TestTheStateCountsWhereNoNodeAnswers(t *testing.T) {
	t.Parallel()
	a := assess(kubernetes("v1.35.4", "v1.34.1"))
	a.JudgeVersions(nil, versions.State{Talos: version(t, "v1.12.4"), Kubernetes: version(t, "v1.34.1")}, versions.Traits{})
	require.Equal(t, "refused: set kubernetes.version to v1.35.4 or later", a.Refusal(nil))
	require.Contains(t, written(t, a), "Kubernetes v1.35.4 → v1.34.1 is a downgrade (the cluster runs v1.35.4)")

	a = from12To("v1.14.1")
	a.JudgeVersions(nil, versions.State{Talos: version(t, "v1.14.1"), Kubernetes: version(t, "v1.35.4")}, versions.Traits{})
	require.Equal(t, "refused: say --allow-version-skip to go on, or go talos.version v1.12.11 → talos.version v1.13.9 → talos.version v1.14.1, with an up after each", a.Refusal(nil))
}

func TestNotesOnUpgrades(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		order risk.Rollout
		note  string
	}{
		{risk.Rollout{}, "3 nodes are upgraded: control planes one by one, workers 1 at a time, each when the one before is healthy: about 9 min, and as long as the drains take"},
		{risk.Rollout{MaxUnavailable: 2}, "3 nodes are upgraded: control planes one by one, workers 2 at a time, each when the one before is healthy: about 6 min, and as long as the drains take"},
		{risk.Rollout{MaxUnavailable: 2, Canary: "w-2"}, "3 nodes are upgraded: w-2 first, control planes one by one, workers 2 at a time, each when the one before is healthy: about 9 min, and as long as the drains take"},
		{
			risk.Rollout{MaxUnavailable: 1, Canary: "w-2", Pause: 5 * time.Minute},
			"3 nodes are upgraded: w-2 first, then a pause of 5m0s, control planes one by one, workers 1 at a time, each when the one before is healthy: about 14 min, and as long as the drains take",
		},
		{risk.Rollout{MaxUnavailable: 3, Canary: "w-9", Pause: 5 * time.Minute}, "3 nodes are upgraded: control planes one by one, workers 3 at a time, each when the one before is healthy: about 6 min, and as long as the drains take"},
	} {
		a := from12To("v1.12.11")
		a.NoteUpgrades(test.order)
		require.Equal(t, []string{test.note}, a.Notes)
	}
	a := assess(upgraded("w-1", "worker", 111, schematicA+":v1.12.4", schematicA+":v1.12.11")...)
	a.NoteUpgrades(risk.Rollout{MaxUnavailable: 1})
	require.Empty(t, a.Notes, "one node is in its own line")
}

func TestWhatAMinorReleaseChangesIsNoted(t *testing.T) {
	t.Parallel()
	nodes := running(t, "v1.12.4", "v1.35.4", "cp-1", "w-1", "w-2")
	wanted := versions.State{Talos: version(t, "v1.13.9"), Kubernetes: version(t, "v1.35.4")}
	for _, traits := range []versions.Traits{{DevicePlugin: true}, {OwnManifests: true, DevicePlugin: true}} {
		a := from12To("v1.13.9")
		a.JudgeVersions(nodes, wanted, traits)
		var texts []string
		for _, change := range versions.Changes(versions.Minor{Major: 1, Minor: 12}, versions.Minor{Major: 1, Minor: 13}, traits) {
			texts = append(texts, change.Says)
		}
		require.Subset(t, a.Notes, texts)
	}
}

// TestAConfigurationThatIsNotReadHasNoLine beside the upgrade that it belongs to.
func TestAConfigurationThatIsNotReadHasNoLine(t *testing.T) {
	t.Parallel()
	configuration := event{
		op: apitype.OpUpdate, kind: token.Configuration, name: "lab-w-1-configuration", parent: urn(token.TalosNode, "lab-w-1"),
		changed: []string{"machineConfigurationInput"},
	}
	unread := risk.Seen{Unread: []string{"w-1"}}
	events := append(upgraded("w-1", "worker", 111, schematicA+":v1.12.4", schematicA+":v1.12.11"), configuration)
	require.Equal(t, " UPGRADE  w-1  Talos v1.12.4 → v1.12.11 (drain, reboot, about 3 min)\n", written(t, assessWith(unread, events...)))
	require.Equal(t, " UPGRADE  Kubernetes  v1.35.4 → v1.35.5 (API servers one by one, kubelets last; no node reboots)\n",
		written(t, assessWith(unread, slices.Concat(same("w-1", "worker", 111), []event{kubernetes("v1.35.4", "v1.35.5"), configuration})...)))

	configuration.byHand = []string{"machine.sysctls.a"}
	require.Contains(t, written(t, assessWith(unread, append(same("w-1", "worker", 111), configuration)...)), "its machine configuration was changed by hand (machine.sysctls.a)")
}
