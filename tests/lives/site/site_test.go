package site_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/site"
)

func TestTopologiesAreReadAsTheyArePrinted(t *testing.T) {
	t.Parallel()
	all := site.Topology{ControlPlanes: 3, Workers: 2, GPUWorkers: 1, Hosts: 2, Shared: true, DataDisks: true, SecondCards: true, DualStack: true, Addons: true}
	for text, want := range map[string]site.Topology{
		"":                          {ControlPlanes: 1, Hosts: 1},
		"workers=2 data-disks":      {ControlPlanes: 1, Workers: 2, Hosts: 1, DataDisks: true},
		all.String():                all,
		"hosts=3 control-planes=5":  {ControlPlanes: 5, Hosts: 3},
		"control-planes=0 layers":   {Hosts: 1, Layers: true},
		"layers workers=1":          {ControlPlanes: 1, Workers: 1, Hosts: 1, Layers: true},
		"shared-template   hosts=2": {ControlPlanes: 1, Hosts: 2, Shared: true},
	} {
		have, err := site.ParseTopology(text)
		require.NoError(t, err, text)
		require.Equal(t, want, have, text)
	}
	for text, wrong := range map[string]string{
		"control-planes=2": "control-planes=2: choose 1, 3 or 5",
		"hosts=4":          "hosts=4: choose 1 to 3",
		"workers=many":     `workers: "many" is no number`,
		"worker=1":         `"worker=1" is no word of a topology`,
		"data-disks=1":     `"data-disks=1" is no word of a topology`,
		"control-planes=0": "control-planes=0: choose 1, 3 or 5",
		"layers hosts=2":   "layers: choose hosts=1",
	} {
		_, err := site.ParseTopology(text)
		require.EqualError(t, err, wrong)
	}
}

// requireWritten checks that the file matches the site.
func requireWritten(t *testing.T, s site.Site, name string) {
	t.Helper()
	text, err := s.NodesFile()
	require.NoError(t, err)
	var file struct {
		Nodes json.RawMessage `json:"nodes"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	want, err := json.Marshal(s.Nodes)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(file.Nodes), name)
}

func TestEdits(t *testing.T) {
	t.Parallel()
	born := site.New(site.Topology{ControlPlanes: 1, Workers: 1, Hosts: 2, Shared: true})
	for name, test := range map[string]struct {
		edit  site.Edit
		holds func(s site.Site) bool
	}{
		"memory":        {site.Edit{What: "memory", Node: "worker-1", Number: 5120}, func(s site.Site) bool { return s.Nodes[1].MemoryMiB == 5120 }},
		"a node more":   {site.Edit{What: "add", Node: "worker-3"}, func(s site.Site) bool { return s.Nodes[2].VMID == 113 && s.Nodes[2].Host == "vmhost" }},
		"a node less":   {site.Edit{What: "remove", Node: "worker-1"}, func(s site.Site) bool { return len(s.Nodes) == 1 }},
		"another host":  {site.Edit{What: "host", Node: "worker-1", Number: 2}, func(s site.Site) bool { return s.Nodes[1].Host == "vmhost2" }},
		"three of them": {site.Edit{What: "control-planes", Number: 3}, func(s site.Site) bool { return len(s.Names(site.ControlPlane)) == 3 }},
		"renumbered":    {site.Edit{What: "renumber", Node: "worker-1"}, func(s site.Site) bool { return s.Nodes[1].VMID == 161 && s.Nodes[1].Name == "worker-1" }},
		"exchanged":     {site.Edit{What: "exchange", Node: "control-1"}, func(s site.Site) bool { return s.Nodes[0].Name == "control-2" && s.Nodes[0].VMID == 102 }},
		"a data disk":   {site.Edit{What: "data-disk", Node: "worker-1", Number: 7}, func(s site.Site) bool { return s.Nodes[1].DataDisks[0].SizeGiB == 7 }},
		"a sysctl": {site.Edit{What: "sysctl", Node: "worker-1", Number: 9}, func(s site.Site) bool {
			sysctls, _ := s.Nodes[1].Settings()
			return sysctls["vm.max_map_count"] == "9"
		}},
	} {
		after, means := born.Apply(test.edit)
		require.True(t, means, name)
		require.True(t, test.holds(after), name)
		requireWritten(t, after, name)
		require.Equal(t, site.New(born.Topology), born, "%s: the former site stays as it was", name)
	}
	for _, nothing := range []site.Edit{
		{What: "memory", Node: "worker-9", Number: 1}, {What: "add", Node: "worker-1"}, {What: "add", Node: "tree-1"},
		{What: "remove", Node: "control-1"}, {What: "exchange", Node: "worker-1"}, {What: "control-planes", Number: 1}, {What: "control-planes", Number: 2}, {What: "host", Node: "worker-1", Number: 3}, {What: "nonsense"},
		{What: "data-disk-grows", Node: "worker-1", Number: 1}, {What: "data-disk", Node: "control-1", Number: 1},
	} {
		_, means := born.Apply(nothing)
		require.False(t, means, nothing)
	}
}

// TestEachMistakeIsAnother checks that a mistake changes the files, in one place each.
func TestEachMistakeIsAnother(t *testing.T) {
	t.Parallel()
	s := site.New(site.Topology{ControlPlanes: 1, Workers: 1, Hosts: 1})
	cluster, err := s.ClusterFile()
	require.NoError(t, err)
	right, err := s.NodesFile()
	require.NoError(t, err)
	seen := map[string]string{cluster + right: "none"}
	for name, mistake := range site.Mistakes {
		wrong, err := mistake(s)
		require.NoError(t, err)
		require.True(t, wrong.Made, name)
		require.NotContains(t, seen, wrong.Cluster+wrong.Nodes, name)
		seen[wrong.Cluster+wrong.Nodes] = name
	}
}
