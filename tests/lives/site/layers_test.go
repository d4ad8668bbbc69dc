package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/site"
)

func newLayered() site.Site {
	return site.New(site.Topology{ControlPlanes: 1, Workers: 1, Hosts: 1, Layers: true})
}

// TestEditsOfLayers checks that each edit changes the file of its layer and no other, and that the former site stays as it was.
func TestEditsOfLayers(t *testing.T) {
	t.Parallel()
	files := func(s site.Site) map[site.Layer]string {
		hosts, err := s.Layers.HostsFile()
		require.NoError(t, err)
		systems, err := s.Layers.SystemsFile()
		require.NoError(t, err)
		cluster, err := s.ClusterFile()
		require.NoError(t, err)
		return map[site.Layer]string{site.HostsLayer: hosts, site.SystemsLayer: systems, site.ClusterLayer: cluster}
	}
	born := newLayered()
	for name, change := range site.LayerEdits {
		edit := site.Edit{What: name, Node: "ct-1", Number: 7}
		if name == "systems-add" {
			edit.Node = "vm-2"
		}
		after, means := born.ApplyToLayers(edit)
		require.True(t, means, name)
		for layer, text := range files(after) {
			if layer == change.Layer {
				require.NotEqual(t, files(born)[layer], text, name)
			} else {
				require.Equal(t, files(born)[layer], text, name)
			}
		}
		require.Equal(t, newLayered(), born, "%s: the former site stays as it was", name)
	}
	for _, nothing := range []site.Edit{
		{What: "systems-memory", Node: "vm-9", Number: 1}, {What: "systems-add", Node: "vm-1"}, {What: "systems-add", Node: "tree-1"}, {What: "systems-remove", Node: "ct-9"}, {What: "nonsense"},
	} {
		_, means := born.ApplyToLayers(nothing)
		require.False(t, means, nothing)
	}
	_, means := site.New(site.Topology{Hosts: 1, Layers: true}).ApplyToLayers(site.Edit{What: "storage-quota", Number: 1})
	require.False(t, means, "without a cluster there is no storage of one")
}

// TestEachMistakeOfLayersIsAnother checks that a mistake changes its file, each in another way.
func TestEachMistakeOfLayersIsAnother(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, mistake := range site.LayerMistakes {
		wrong, err := mistake(newLayered())
		require.NoError(t, err)
		require.True(t, wrong.Made, name)
		require.NotContains(t, seen, wrong.Text, name)
		seen[wrong.Text] = name
	}
}
