package versions_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/versions"
)

func judge(nodes []versions.Node, wanted versions.State) []versions.Refusal {
	return slices.Concat(versions.JudgeTalos(nodes, wanted), versions.JudgeKubernetes(nodes, wanted))
}

func TestSteps(t *testing.T) {
	t.Parallel()
	node := func(name, talos, kubernetes string) versions.Node {
		return versions.Node{Name: name, State: state(t, talos, kubernetes)}
	}
	for name, test := range map[string]struct {
		nodes  []versions.Node
		wanted versions.State
		want   []string
		skips  bool
	}{
		"the same":                     {[]versions.Node{node("cp-1", "v1.12.4", "v1.35.4")}, state(t, "v1.12.4", "v1.35.4"), nil, false},
		"the latest patch":             {[]versions.Node{node("cp-1", "v1.12.4", "v1.35.4")}, state(t, "v1.12.11", "v1.35.4"), nil, false},
		"a patch on the way":           {[]versions.Node{node("cp-1", "v1.12.4", "v1.35.4")}, state(t, "v1.12.7", "v1.35.4"), nil, false},
		"the next minor":               {[]versions.Node{node("cp-1", "v1.12.11", "v1.35.4")}, state(t, "v1.13.0", "v1.35.4"), nil, false},
		"from a later patch":           {[]versions.Node{node("cp-1", "v1.12.12", "v1.35.4")}, state(t, "v1.13.9", "v1.35.4"), nil, false},
		"the next Kubernetes":          {[]versions.Node{node("cp-1", "v1.13.9", "v1.35.4")}, state(t, "v1.13.9", "v1.36.1"), nil, false},
		"both, and Kubernetes fits":    {[]versions.Node{node("cp-1", "v1.12.11", "v1.34.1")}, state(t, "v1.13.9", "v1.35.4"), nil, false},
		"an upgrade that stopped":      {[]versions.Node{node("cp-1", "v1.13.9", "v1.35.4"), node("w-1", "v1.12.11", "v1.35.4")}, state(t, "v1.13.9", "v1.35.4"), nil, false},
		"a node that is not known yet": {[]versions.Node{{Name: "w-1"}}, state(t, "v1.13.9", "v1.35.4"), nil, false},
		"a minor is skipped": {
			[]versions.Node{node("cp-1", "v1.12.4", "v1.35.4"), node("w-1", "v1.12.4", "v1.35.4")}, state(t, "v1.14.1", "v1.35.4"),
			[]string{"Talos v1.12.4 → v1.14.1 skips v1.13 (cp-1, w-1 run v1.12.4): go talos.version v1.12.11 → talos.version v1.13.9 → talos.version v1.14.1, with an up after each"}, true,
		},
		"more is skipped than the installer bears": {
			[]versions.Node{node("cp-1", "v1.11.6", "v1.34.1")}, state(t, "v1.14.1", "v1.34.1"),
			[]string{"Talos v1.11.6 → v1.14.1 skips v1.12, v1.13 (cp-1 runs v1.11.6): go talos.version v1.12.11 → talos.version v1.13.9 → talos.version v1.14.1, with an up after each"}, false,
		},
		"the latest patch is left out": {
			[]versions.Node{node("cp-1", "v1.12.4", "v1.35.4")}, state(t, "v1.13.9", "v1.35.4"),
			[]string{"Talos v1.12.4 → v1.13.9 leaves out v1.12.11, the latest of v1.12 (cp-1 runs v1.12.4): go talos.version v1.12.11 → talos.version v1.13.9, with an up after each"}, true,
		},
		"the machinery's installer is asked": {
			[]versions.Node{node("cp-1", "v1.9.6", "v1.32.4")}, state(t, "v1.12.11", "v1.32.4"),
			[]string{"Talos v1.9.6 → v1.12.11 skips v1.10, v1.11 (cp-1 runs v1.9.6): go talos.version v1.10.9 → talos.version v1.11.6 → talos.version v1.12.11, with an up after each"}, false,
		},
		"down": {
			[]versions.Node{node("cp-1", "v1.12.11", "v1.35.4")}, state(t, "v1.12.4", "v1.35.4"),
			[]string{"Talos v1.12.11 → v1.12.4 is a downgrade (cp-1 runs v1.12.11): set talos.version to v1.12.11 or later, or go back with `em-infra node rollback` where the last upgrade came from v1.12.4"}, false,
		},
		"down to where no upgrade came from": {
			[]versions.Node{node("cp-1", "v1.13.9", "v1.35.4")}, state(t, "v1.10.9", "v1.35.4"),
			[]string{"Talos v1.13.9 → v1.10.9 is a downgrade (cp-1 runs v1.13.9): set talos.version to v1.13.9 or later"}, false,
		},
		"one of them goes down": {
			[]versions.Node{node("cp-1", "v1.13.9", "v1.35.4"), node("cp-2", "v1.12.11", "v1.35.4")}, state(t, "v1.12.11", "v1.35.4"),
			[]string{"Talos v1.13.9 → v1.12.11 is a downgrade (cp-1 runs v1.13.9): set talos.version to v1.13.9 or later, or go back with `em-infra node rollback` where the last upgrade came from v1.12.11"}, false,
		},
		"Kubernetes down": {
			[]versions.Node{node("cp-1", "v1.12.11", "v1.35.4")}, state(t, "v1.12.11", "v1.34.1"),
			[]string{"Kubernetes v1.35.4 → v1.34.1 is a downgrade (cp-1 runs v1.35.4): set kubernetes.version to v1.35.4 or later"}, false,
		},
		"Kubernetes skips": {
			[]versions.Node{node("cp-1", "v1.13.9", "v1.34.1")}, state(t, "v1.13.9", "v1.36.1"),
			[]string{"Kubernetes v1.34.1 → v1.36.1 skips v1.35 (cp-1 runs v1.34.1): go kubernetes.version v1.35.4 → kubernetes.version v1.36.1, with an up after each"}, false,
		},
		"both, and Kubernetes is too new for what runs": {
			[]versions.Node{node("cp-1", "v1.12.11", "v1.35.4")}, state(t, "v1.13.9", "v1.36.1"),
			[]string{"Kubernetes v1.36.1 is too new for the Talos that runs (cp-1 runs v1.12.11, which supports v1.30 to v1.35), and Kubernetes changes first: go talos.version v1.13.9 → kubernetes.version v1.36.1, with an up after each"}, false,
		},
		"both are wrong": {
			[]versions.Node{node("cp-1", "v1.12.11", "v1.34.1")}, state(t, "v1.14.1", "v1.36.1"),
			[]string{
				"Talos v1.12.11 → v1.14.1 skips v1.13 (cp-1 runs v1.12.11): go kubernetes.version v1.35.4 → talos.version v1.13.9 → kubernetes.version v1.36.1 → talos.version v1.14.1, with an up after each",
				"Kubernetes v1.34.1 → v1.36.1 skips v1.35 (cp-1 runs v1.34.1): go kubernetes.version v1.35.4 → talos.version v1.13.9 → kubernetes.version v1.36.1 → talos.version v1.14.1, with an up after each",
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var texts []string
			refusals := judge(test.nodes, test.wanted)
			for _, refusal := range refusals {
				texts = append(texts, refusal.Error())
			}
			require.Equal(t, test.want, texts)
			require.Equal(t, test.skips, len(refusals) > 0 && refusals[0].Skips)
		})
	}
}

// TestChanges checks that each change is reported for the clusters that it affects, and only on the step into its release.
func TestChanges(t *testing.T) {
	t.Parallel()
	minor := func(number uint64) versions.Minor { return versions.Minor{Major: 1, Minor: number} }
	const always = "extra-args-on-the-wire"
	seen := map[string]bool{}
	for name, test := range map[string]struct {
		since  uint64
		traits versions.Traits
	}{
		"nvidia-cdi":               {13, versions.Traits{DevicePlugin: true}},
		"manifests-pruned":         {13, versions.Traits{OwnManifests: true}},
		"nameservers-replaced":     {13, versions.Traits{OneFamilyOfNameservers: true}},
		always:                     {13, versions.Traits{}},
		"installer-of-the-factory": {14, versions.Traits{InstallerImage: true}},
		"etcd-http-port":           {14, versions.Traits{EtcdFirewall: true}},
		"tls-1.3":                  {14, versions.Traits{TLSSettings: true}},
	} {
		seen[name] = true
		names := func(from, to uint64, traits versions.Traits) []string {
			names := []string{}
			for _, change := range versions.Changes(minor(from), minor(to), traits) {
				require.NotEmpty(t, change.Says)
				require.NotEmpty(t, change.Source)
				if change.Name != always || name == always {
					names = append(names, change.Name)
				}
			}
			return names
		}
		require.Equal(t, []string{name}, names(test.since-1, test.since, test.traits))
		require.Equal(t, []string{name}, names(12, 14, test.traits), "a skipped minor is said, too")
		require.Empty(t, names(test.since, test.since, test.traits), "within the minor")
		require.Empty(t, names(test.since, test.since-1, test.traits), "on the way back")
		if name != always {
			require.Empty(t, names(test.since-1, test.since, versions.Traits{}), "where it does not bite")
		}
	}
	for _, name := range versions.ChangeNames() {
		require.True(t, seen[name], name)
	}
}
