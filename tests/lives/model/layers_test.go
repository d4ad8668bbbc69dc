package model_test

import (
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
	deletes := []string{"tank/k8s", "tank/k8s/nfs", "tank/k8s/data-1"}
	for name, test := range map[string]struct {
		change func(seen *model.NAS)
		want   []string
	}{
		"as wanted":         {func(*model.NAS) {}, nil},
		"another quota":     {func(seen *model.NAS) { seen.Datasets["tank/k8s"]["quota"] = "1" }, []string{`whole: quota of k8s is "1", not "536870912000"`}},
		"no dataset":        {func(seen *model.NAS) { delete(seen.Datasets, "tank/k8s/nfs") }, []string{"whole: there is no dataset k8s/nfs"}},
		"no share":          {func(seen *model.NAS) { seen.Shares = nil }, []string{"whole: the dataset k8s/nfs is not exported"}},
		"a share is left":   {func(seen *model.NAS) { seen.Shares = append(seen.Shares, "/mnt/tank/k8s/data-1") }, []string{"whole: the share of /mnt/tank/k8s/data-1 is left over"}},
		"a share of others": {func(seen *model.NAS) { seen.Shares = append(seen.Shares, "/mnt/tank/proxmox") }, nil},
		"a dataset is left": {func(seen *model.NAS) { seen.Datasets["tank/k8s/data-1"] = nil }, []string{"whole: the dataset tank/k8s/data-1 is left over"}},
		"one that may stay": {func(seen *model.NAS) { seen.Datasets["tank/k8s/data-2"] = nil }, nil},
		"one with others in": {func(seen *model.NAS) {
			seen.Datasets["tank/k8s/data-1"], seen.Datasets["tank/k8s/data-1/by-hand"] = nil, nil
		}, nil},
	} {
		seen, err := model.ReadNAS([]byte(nasAsWanted))
		require.NoError(t, err)
		test.change(&seen)
		require.Equal(t, test.want, texts(model.StorageWhole(layered().Storage, deletes, seen)), name)
	}
}

// withData is an inventory with a dataset beside those that a site begins with.
func withData(protect bool) site.Storage {
	storage := layered().Storage
	storage.Protect, storage.Datasets = protect, append(storage.Datasets, site.Dataset{Name: "k8s/data-1"})
	return storage
}

// TestDatasetsThatAreDeleted: the stack deletes what its inventory no longer has, unless a run since its latest up may have forgotten it.
func TestDatasetsThatAreDeleted(t *testing.T) {
	t.Parallel()
	all := []string{"tank/k8s", "tank/k8s/nfs", "tank/k8s/data-1"}
	for name, test := range map[string]struct {
		happened func(k *model.DatasetKeeper)
		deletes  []string
	}{
		"at the begin":           {func(*model.DatasetKeeper) {}, nil},
		"with protection":        {func(k *model.DatasetKeeper) { k.Whole(withData(true)) }, nil},
		"without":                {func(k *model.DatasetKeeper) { k.Whole(withData(false)) }, all},
		"a run that failed":      {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("up", layeredWithout(), nil) }, all},
		"an up without it":       {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Whole(layeredWithout()) }, all[:2]},
		"protected since":        {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("site-up", withData(true), nil) }, nil},
		"only previewed since":   {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("preview", withData(true), nil) }, all},
		"an older state":         {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("restore-oldest", withData(false), nil) }, nil},
		"a state that is anew":   {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("adopt", withData(false), nil) }, nil},
		"a run of another stack": {func(k *model.DatasetKeeper) { k.Whole(withData(false)); k.Run("hosts-up", withData(true), nil) }, all},
	} {
		k := model.NewDatasetKeeper()
		test.happened(k)
		require.Equal(t, test.deletes, k.Deletes(), name)
	}
}

// layeredWithout is an inventory without protection, and without that dataset.
func layeredWithout() site.Storage {
	storage := layered().Storage
	storage.Protect = false
	return storage
}

// TestDatasetsAreKept: a dataset may go by hand, or in a run that carries out a plan if it is empty and no inventory has or protects it.
func TestDatasetsAreKept(t *testing.T) {
	t.Parallel()
	all := []string{"tank", "tank/k8s", "tank/k8s/data-1", "tank/k8s/data-2", "tank/k8s/data-2/by-hand", "tank/k8s/nfs"}
	leftOut := func(what string) func(*model.DatasetKeeper) {
		return func(k *model.DatasetKeeper) { k.Run(what, layeredWithout(), []string{"tank/k8s/data-2/by-hand"}) }
	}
	withoutData1 := slices.Delete(slices.Clone(all), 2, 3)
	for name, test := range map[string]struct {
		giveUp func(k *model.DatasetKeeper)
		kept   []string
	}{
		"nothing is given up":  {func(*model.DatasetKeeper) {}, all},
		"by hand":              {func(k *model.DatasetKeeper) { k.GiveUp("tank/k8s/data-2") }, []string{"tank", "tank/k8s", "tank/k8s/data-1", "tank/k8s/nfs"}},
		"protected":            {func(k *model.DatasetKeeper) { k.Run("up", layered().Storage, nil) }, all},
		"an up":                {leftOut("up"), withoutData1},
		"an up of all":         {leftOut("site-up"), withoutData1},
		"one of the engine":    {leftOut("pulumi"), withoutData1},
		"a part of one":        {leftOut("until-provision"), withoutData1},
		"a preview":            {leftOut("preview"), all},
		"a preview of all":     {leftOut("site-preview"), all},
		"a status":             {leftOut("status"), all},
		"drift":                {leftOut("drift"), all},
		"an up of systems":     {leftOut("systems-up"), all},
		"a snapshot":           {leftOut("snapshot-etcd"), all},
		"a destroy":            {leftOut("destroy"), []string{"tank", "tank/k8s", "tank/k8s/data-2", "tank/k8s/data-2/by-hand"}},
		"a destroy of all":     {func(k *model.DatasetKeeper) { k.GiveUp("tank/k8s/data-2"); k.Run("destroy", layeredWithout(), nil) }, []string{"tank"}},
		"a protected destroy":  {func(k *model.DatasetKeeper) { k.Run("destroy", layered().Storage, nil) }, all},
		"with it in inventory": {func(k *model.DatasetKeeper) { k.Run("up", withData(false), []string{"tank/k8s/data-2/by-hand"}) }, all},
	} {
		k := model.NewDatasetKeeper()
		datasets := map[string]map[string]string{}
		for _, one := range all {
			datasets[one] = nil
		}
		k.Remember(model.NAS{Datasets: datasets})
		test.giveUp(k)
		require.Empty(t, k.Lost(model.NAS{Datasets: datasets}), name)
		var lost []string
		for _, one := range test.kept {
			lost = append(lost, "kept: the dataset "+one+" is lost")
		}
		require.Equal(t, lost, texts(k.Lost(model.NAS{})), name)
	}
}
