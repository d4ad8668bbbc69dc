package model_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// layered is a site with layers as it begins.
func layered() site.Layers {
	return site.New(site.Topology{ControlPlanes: 1, Workers: 1, Hosts: 1, Layers: true}).Layers
}

// hostAsWanted is the state file of a host that is as the site says.
const hostAsWanted = `{"state": {
	"networks": {"vmhost": {"active": {
		"eno1": {}, "vmbr0": {"address": "192.168.20.10"}, "vmbr1": {"mtu": "9000", "comments": "storage\nMade by em-infra for site."}, "vmbr1.30": {}
	}}},
	"access": {"users": {"root@pam": {"enabled": true}, "em-infra@pve": {"enabled": true, "tokens": {"rehearsal": {"secret": "s"}}}}},
	"options": {"keyboard": "de"}, "timezones": {"vmhost": "Europe/Berlin"},
	"backupJobs": [{"id": "nightly", "settings": {"schedule": "02:30"}}],
	"storages": {"local": {"content": ["iso"]}, "local-lvm": {}, "nas": {"content": ["backup", "images", "iso"]}}
}}`

func TestHostsWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(h *model.HostSettings)
		whole  []string
		kept   []string
	}{
		"as wanted":           {change: func(*model.HostSettings) {}},
		"another MTU":         {change: func(h *model.HostSettings) { h.Interfaces["vmbr1"] = model.Interface{MTU: "1500", Comments: "storage"} }, whole: []string{`whole: MTU of vmbr1 is "1500", not "9000"`}},
		"a VLAN that is left": {change: func(h *model.HostSettings) { h.Interfaces["vmbr1.40"] = model.Interface{} }, whole: []string{"whole: the interface vmbr1.40 is left over"}},
		"no way to the host": {
			change: func(h *model.HostSettings) { delete(h.Interfaces, "vmbr0") },
			whole:  []string{"whole: there is no interface vmbr0"}, kept: []string{"kept: there is no interface vmbr0"},
		},
		"a storage that was adopted is gone": {
			change: func(h *model.HostSettings) { delete(h.Storages, "local") },
			whole:  []string{"whole: there is no storage local"}, kept: []string{"kept: there is no storage local"},
		},
		"other content":       {change: func(h *model.HostSettings) { h.Storages["nas"] = "iso" }, whole: []string{`whole: content of nas is "iso", not "backup images iso"`}},
		"a user that is left": {change: func(h *model.HostSettings) { h.Users["user-2@pve"] = nil }, whole: []string{"whole: the user user-2@pve is left over"}},
		"a pool by hand is gone": {
			change: func(h *model.HostSettings) { h.Pools = []string{"pool-1"} },
			whole:  []string{"whole: there is no pool pool-7"}, kept: []string{"kept: there is no pool pool-7"},
		},
		"the token is locked out": {
			change: func(h *model.HostSettings) { delete(h.Users, "em-infra@pve") },
			whole:  []string{"whole: there is no user em-infra@pve"}, kept: []string{`kept: tokens of em-infra@pve is "", not "rehearsal"`},
		},
		"another time": {change: func(h *model.HostSettings) { h.Schedules["nightly"] = "04:00" }, whole: []string{`whole: schedule of nightly is "04:00", not "02:30"`}},
	} {
		seen, err := model.ReadHostSettings([]byte(hostAsWanted))
		require.NoError(t, err)
		require.Equal(t, []string{"s"}, seen.Secrets)
		seen.Pools = []string{"pool-1", "pool-7"}
		test.change(&seen)
		require.Equal(t, test.whole, texts(model.HostsWhole(layered().Hosts, []string{"pool-7"}, seen)), name)
		require.Equal(t, test.kept, texts(model.HostKept([]string{"pool-7"}, seen)), name)
	}
}

func texts(violations []model.Violation) (all []string) {
	for _, violation := range violations {
		all = append(all, violation.String())
	}
	return all
}

func TestSystemsWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(seen []model.Machine) []model.Machine
		want   []string
	}{
		"as wanted":   {func(seen []model.Machine) []model.Machine { return seen }, nil},
		"one is gone": {func(seen []model.Machine) []model.Machine { return seen[1:] }, []string{"whole: there is no system vm-1"}},
		"one is left": {func(seen []model.Machine) []model.Machine {
			return append(seen, model.Machine{VMID: 205, Name: "vm-5"})
		}, []string{"whole: VM 205 (vm-5) is in no inventory"}},
		"a template stays": {func(seen []model.Machine) []model.Machine {
			return append(seen, model.Machine{VMID: 9100, Template: true})
		}, nil},
		"it is stopped":   {func(seen []model.Machine) []model.Machine { seen[0].Running = false; return seen }, []string{`whole: vm-1 runs is "false", not "true"`}},
		"a small root":    {func(seen []model.Machine) []model.Machine { seen[1].Disks[0].Bytes = 4 << 30; return seen }, []string{`whole: disk of ct-1 is "4", not "8"`}},
		"the one by hand": {func(seen []model.Machine) []model.Machine { seen[0].Snapshots = nil; return seen }, []string{"whole: the snapshot mine1 of vm-1, which was taken by hand, is lost"}},
		"too many of them": {func(seen []model.Machine) []model.Machine {
			seen[1].Snapshots = []string{"em-infra-1", "em-infra-2", "em-infra-3", "em-infra-4", "em-infra-5"}
			return seen
		}, []string{"whole: ct-1 has 5 snapshots of em-infra"}},
	} {
		seen := []model.Machine{
			{VMID: 201, Name: "vm-1", Running: true, MemoryMiB: 1024, Cores: 1, Tags: []string{"site"}, Disks: []model.Disk{{Bytes: 8 << 30}}, Snapshots: []string{"mine1"}},
			{VMID: 221, Name: "ct-1", Running: true, MemoryMiB: 512, Cores: 1, Tags: []string{"site"}, Disks: []model.Disk{{Bytes: 8 << 30}}},
		}
		have := model.SystemsWhole(layered().Systems, map[string][]string{"vm-1": {"mine1"}}, test.change(seen))
		require.Equal(t, test.want, texts(have), name)
	}
}

// nasAsWanted is the state file of a box that is as the site says.
const nasAsWanted = `{
	"datasets": [{"name": "tank"}, {"name": "tank/k8s", "local": {"quota": "536870912000"}}, {"name": "tank/k8s/nfs"}],
	"rows": {"sharing.nfs": [{"path": "/mnt/tank/k8s/nfs"}]}
}`

func TestStorageWhole(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(seen *model.NAS)
		want   []string
	}{
		"as wanted":     {func(*model.NAS) {}, nil},
		"another quota": {func(seen *model.NAS) { seen.Datasets["tank/k8s"]["quota"] = "1" }, []string{`whole: quota of k8s is "1", not "536870912000"`}},
		"no dataset":    {func(seen *model.NAS) { delete(seen.Datasets, "tank/k8s/nfs") }, []string{"whole: there is no dataset k8s/nfs"}},
		"no share":      {func(seen *model.NAS) { seen.Shares = nil }, []string{"whole: the dataset k8s/nfs is not exported"}},
	} {
		seen, err := model.ReadNAS([]byte(nasAsWanted))
		require.NoError(t, err)
		test.change(&seen)
		require.Equal(t, test.want, texts(model.StorageWhole(layered().Storage, seen)), name)
	}
}

// TestDatasetsAreKept: a dataset may go by hand, or if it is empty and no inventory has or protects it.
func TestDatasetsAreKept(t *testing.T) {
	t.Parallel()
	all := []string{"tank", "tank/a", "tank/a/b", "tank/c", "tank/d"}
	for name, test := range map[string]struct {
		giveUp func(k *model.DatasetKeeper)
		kept   []string
	}{
		"nothing is given up": {func(*model.DatasetKeeper) {}, all},
		"by hand":             {func(k *model.DatasetKeeper) { k.GiveUp("tank/a") }, []string{"tank", "tank/c", "tank/d"}},
		"left out":            {func(k *model.DatasetKeeper) { k.GiveUpEmpty([]site.Dataset{{Name: "c"}}, []string{"tank/a/b"}) }, []string{"tank", "tank/a", "tank/a/b", "tank/c"}},
	} {
		k := model.NewDatasetKeeper()
		datasets := map[string]map[string]string{}
		for _, one := range all {
			datasets[one] = nil
		}
		k.Remember(model.NAS{Datasets: datasets})
		test.giveUp(k)
		require.Empty(t, k.Lost(model.NAS{Datasets: datasets}), name)
		maps.DeleteFunc(datasets, func(string, map[string]string) bool { return true })
		var lost []string
		for _, one := range test.kept {
			lost = append(lost, "kept: the dataset "+one+" is lost")
		}
		require.Equal(t, slices.Sorted(slices.Values(lost)), texts(k.Lost(model.NAS{Datasets: datasets})), name)
	}
}
