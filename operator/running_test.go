package operator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestWhatRunsIsWhatNodesAnswer: a node that does not answer, or whose build has no version, is not judged; an API server that an upgrade has reached
// before the kubelets is judged.
func TestWhatRunsIsWhatNodesAnswer(t *testing.T) {
	t.Parallel()
	var seen operator.Running
	seen.Add("cp-1", nodeops.Observation{Talos: "v1.12.4", Schematic: "0123", Kubelet: "v1.35.4", APIServer: "v1.36.1"})
	seen.Add("cp-2", nodeops.Observation{Talos: "v1.12.11", Kubelet: "v1.35.4", APIServer: "v1.35.4"})
	seen.Add("w-1", nodeops.Observation{})
	seen.Add("w-2", nodeops.Observation{Talos: "dirty", Kubelet: "v1.35.4"})
	seen.Add("w-3", nodeops.Observation{Talos: "v1.12.11", Kubelet: "v1.35.4"})
	var listed []string
	for _, node := range seen.Nodes {
		listed = append(listed, node.Name+": Talos "+node.Talos.String()+", Kubernetes "+node.Kubernetes.String())
	}
	require.Equal(t, []string{
		"cp-1: Talos v1.12.4, Kubernetes v1.35.4", "the API server of cp-1: Talos v0.0.0, Kubernetes v1.36.1", "cp-2: Talos v1.12.11, Kubernetes v1.35.4",
		"w-3: Talos v1.12.11, Kubernetes v1.35.4",
	}, listed)
	require.Len(t, seen.Images, 3)
	require.Equal(t, "0123", seen.Images["cp-1"].Schematic)
}

// TestAnotherReleaseThanTheRecordedOne: a patch can give an image from another place than an Image Factory, whose name contains no schematic.
func TestAnotherReleaseThanTheRecordedOne(t *testing.T) {
	t.Parallel()
	const schematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	for _, test := range []struct{ image, talos, schematic, want string }{
		{"factory.talos.dev/nocloud-installer/" + schematic + ":v1.12.4", "v1.12.4", schematic, ""},
		{"factory.talos.dev/nocloud-installer/" + schematic + ":v1.12.4", "v1.12.2", schematic, "factory.talos.dev/nocloud-installer/" + schematic + ":v1.12.2"},
		{"factory.talos.dev/nocloud-installer/" + schematic + ":v1.12.4", "v1.12.4", "", "factory.talos.dev/nocloud-installer/unknown:v1.12.4"},
		{"registry.example.org:5000/installer:v1.12.4", "v1.12.4", "", ""},
		{"registry.example.org:5000/installer:v1.12.4", "v1.12.2", "", "registry.example.org:5000/installer:v1.12.2"},
		{"registry.example.org:5000/installer:v1.12.4", "v1.12.4", schematic, ""},
		{"registry.example.org:5000/installer:v1.12.4", "v1.12.2", schematic, "registry.example.org:5000/installer:v1.12.2"},
	} {
		member := state.Membership{Update: "em-infra node upgrade --image " + test.image, Image: test.image}
		have := operator.OtherRelease(member, nodeops.Observation{Talos: test.talos, Schematic: test.schematic})
		require.Equal(t, test.want, strings.TrimPrefix(have, "em-infra node upgrade --image "), test)
	}
}

// TestVolumesThatAreToHaveOtherNames: a volume that is on no disk yet may be renamed, and two that change their places keep their names.
func TestVolumesThatAreToHaveOtherNames(t *testing.T) {
	t.Parallel()
	volumes := []nodeops.Volume{
		{Name: "EPHEMERAL", Phase: "ready", Drive: "scsi0"}, {Name: "data", Phase: "ready", Drive: "scsi1"}, {Name: "models", Phase: "failed"},
		{Name: "scratch", Phase: "ready", Drive: "scsi3"},
	}
	for name, test := range map[string]struct {
		mounts []string
		want   []risk.RenamedVolume
	}{
		"as they are":            {[]string{"data", "models", "scratch"}, nil},
		"the first":              {[]string{"fast", "models", "scratch"}, []risk.RenamedVolume{{Node: "w-1", Key: "dataDisks[0].mount", Has: "data", Wanted: "fast"}}},
		"one that is on no disk": {[]string{"data", "weights", "scratch"}, nil},
		"places that change":     {[]string{"scratch", "models", "data"}, nil},
		"one more":               {[]string{"data", "models", "scratch", "fast"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen operator.Running
			seen.Add("w-1", nodeops.Observation{Talos: "v1.12.4", Volumes: volumes})
			node := inventory.Node{Name: "w-1"}
			for _, mount := range test.mounts {
				node.DataDisks = append(node.DataDisks, inventory.DataDisk{Mount: mount})
			}
			require.Equal(t, test.want, operator.RenamedVolumes(seen, inventory.Nodes{node, {Name: "w-2", DataDisks: []inventory.DataDisk{{Mount: "fast"}}}}))
		})
	}
}

// TestAnInventoryIsJudgedByWhatRuns: Kubernetes goes first, so it must fit the Talos that runs.
func TestAnInventoryIsJudgedByWhatRuns(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load("../internal/inventory/testdata/valid-talos-1-13")
	require.NoError(t, err)
	for _, test := range []struct{ talos, kubernetes, refusal string }{
		{"v1.13.0", "v1.35.4", ""},
		{"v1.13.9", "v1.36.3", ""},
		{"v1.12.11", "v1.35.4", "refused: go talos.version v1.13.9 → kubernetes.version v1.36.3, with an up after each"},
		{"v1.13.9", "v1.36.4", "refused: set kubernetes.version to v1.36.4 or later"},
	} {
		var seen operator.Running
		seen.Add("cp-1", nodeops.Observation{Talos: test.talos, Kubelet: test.kubernetes, APIServer: test.kubernetes})
		var assessment risk.Assessment
		operator.JudgeVersions(&assessment, inv, seen.Nodes)
		require.Equal(t, test.refusal, assessment.Refusal(nil), test)
	}
}

func TestWhatUpDoesAboutVersionsThatDiffer(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load("../internal/inventory/testdata/valid-talos-1-13")
	require.NoError(t, err)
	images := map[string]status.Image{"cp-1": {Schematic: "0123"}, "w-1": {Schematic: "0123"}}
	for name, test := range map[string]struct {
		talos, schematic, kubelet, server string
		listed                            []string
	}{
		"as wanted":      {"v1.13.9", "0123", "v1.36.3", "v1.36.3", nil},
		"an older Talos": {"v1.13.0", "0123", "v1.36.3", "v1.36.3", []string{"`em-infra up` upgrades cp-1 from Talos v1.13.0 to v1.13.9"}},
		"another image":  {"v1.13.9", "4567", "v1.36.3", "v1.36.3", []string{"`em-infra up` upgrades cp-1 to the image of the inventory"}},
		"upgraded by hand": {"v1.14.1", "0123", "v1.36.3", "v1.36.3", []string{
			"up refuses it: Talos v1.14.1 → v1.13.9 is a downgrade (cp-1 runs v1.14.1): set talos.version to v1.14.1 or later, or go back with `em-infra node rollback` where the last upgrade came from v1.13.9",
		}},
		"Kubernetes half way": {"v1.13.9", "0123", "v1.35.4", "v1.36.3", []string{"`em-infra up` brings cp-1 from Kubernetes v1.35.4 to v1.36.3"}},
		"Kubernetes by hand": {"v1.13.9", "0123", "v1.36.4", "v1.36.4", []string{
			"up refuses it: Kubernetes v1.36.4 → v1.36.3 is a downgrade (cp-1 runs v1.36.4): set kubernetes.version to v1.36.4 or later",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen operator.Running
			seen.Add("cp-1", nodeops.Observation{Talos: test.talos, Schematic: test.schematic, Kubelet: test.kubelet, APIServer: test.server})
			require.Equal(t, test.listed, operator.Upgrades(seen, inv.Versions(), images))
		})
	}
}

func TestUpDoesNothingAboutACopyOfAnImage(t *testing.T) {
	t.Parallel()
	inv, err := inventory.Load("../internal/inventory/testdata/valid-talos-1-13")
	require.NoError(t, err)
	var seen operator.Running
	seen.Add("cp-1", nodeops.Observation{Talos: "v1.13.9", Schematic: "0123", Kubelet: "v1.36.3"})
	require.Empty(t, operator.Upgrades(seen, inv.Versions(), map[string]status.Image{"cp-1": {Installer: "registry.example.org/installer:v1.13.9"}}))
}
