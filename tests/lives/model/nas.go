package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// NAS is the content of the emulated TrueNAS box.
type NAS struct {
	// Datasets are their own properties, by the names of the datasets.
	Datasets map[string]map[string]string
	// Shares are the paths that are exported by NFS.
	Shares []string
}

// ReadNAS reads the state file of the lab's box.
func ReadNAS(text []byte) (NAS, error) {
	var file struct {
		Datasets []struct {
			Name  string            `json:"name"`
			Local map[string]string `json:"local"`
		} `json:"datasets"`
		Rows map[string][]struct {
			Path string `json:"path"`
		} `json:"rows"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return NAS{}, fmt.Errorf("the state of the NAS: %w", err)
	}
	seen := NAS{Datasets: map[string]map[string]string{}}
	for _, one := range file.Datasets {
		seen.Datasets[one.Name] = one.Local
	}
	for _, share := range file.Rows["sharing.nfs"] {
		seen.Shares = append(seen.Shares, share.Path)
	}
	return seen, nil
}

const pool = "tank/"

// StorageWhole returns how the NAS differs from `storage:`, and what is left over: a share of the stack, and an empty dataset among those that the
// stack has to delete ([DatasetKeeper.Deletes]).
func StorageWhole(want site.Storage, deletes []string, seen NAS) []Violation {
	b := &broken{invariant: Whole}
	for _, one := range want.Datasets {
		have, found := seen.Datasets[pool+one.Name]
		if !found {
			b.say("there is no dataset %s", one.Name)
			continue
		}
		quota, compression := "", strings.ToLower(one.Compression)
		if one.QuotaGiB > 0 {
			quota = strconv.Itoa(one.QuotaGiB * gib)
		}
		b.is("quota of "+one.Name, quota, have["quota"])
		b.is("compression of "+one.Name, compression, strings.ToLower(have["compression"]))
		if one.Shared && !slices.Contains(seen.Shares, "/mnt/"+pool+one.Name) {
			b.say("the dataset %s is not exported", one.Name)
		}
	}
	for _, path := range seen.Shares {
		if strings.HasPrefix(path, "/mnt/"+pool+ofStack) && !slices.ContainsFunc(want.Datasets, func(d site.Dataset) bool { return d.Shared && path == "/mnt/"+pool+d.Name }) {
			b.say("the share of %s is left over", path)
		}
	}
	for _, name := range deletes {
		if _, found := seen.Datasets[name]; found && !wants(want.Datasets, name) && !hasOthers(slices.Collect(maps.Keys(seen.Datasets)), name) {
			b.say("the dataset %s is left over", name)
		}
	}
	return b.found
}

// ofStack is the dataset of the stack, with all others in it.
const ofStack = "k8s"

// wants reports whether a dataset of the box is one of the inventory.
func wants(datasets []site.Dataset, name string) bool {
	return slices.ContainsFunc(datasets, func(d site.Dataset) bool { return pool+d.Name == name })
}

// hasOthers reports whether one of these datasets is in the named one.
func hasOthers(all []string, name string) bool {
	return slices.ContainsFunc(all, func(one string) bool { return strings.HasPrefix(one, name+"/") })
}

// DatasetKeeper records which datasets must not be lost, and which the stack deletes once its inventory no longer has them.
type DatasetKeeper struct {
	names   map[string]bool
	deletes []string
}

// NewDatasetKeeper returns an empty one.
func NewDatasetKeeper() *DatasetKeeper { return &DatasetKeeper{names: map[string]bool{}} }

// Remember records the current state.
func (k *DatasetKeeper) Remember(seen NAS) {
	for name := range seen.Datasets {
		k.names[name] = true
	}
}

// GiveUp allows the loss of a dataset and of all in it.
func (k *DatasetKeeper) GiveUp(name string) {
	maps.DeleteFunc(k.names, func(one string, _ bool) bool { return one == name || strings.HasPrefix(one, name+"/") })
}

// Run allows, before a run, the loss of what it may delete. With the inventory's protection the stack may forget a dataset instead of
// deleting it, and a state that is restored or written anew may not know it.
func (k *DatasetKeeper) Run(what string, storage site.Storage, byHand []string) {
	if forgets := storage.Protect && carriesOut(what); forgets || what == "restore-oldest" || what == "adopt" {
		k.deletes = nil
	}
	if storage.Protect || !carriesOut(what) {
		return
	}
	stays := storage.Datasets
	if what == "destroy" {
		stays = nil
	}
	k.giveUpEmpty(stays, byHand)
}

// Whole records, after an up that has made the box as the inventory says, which datasets the stack deletes from now on.
func (k *DatasetKeeper) Whole(storage site.Storage) {
	k.deletes = nil
	for _, one := range storage.Datasets {
		if !storage.Protect {
			k.deletes = append(k.deletes, pool+one.Name)
		}
	}
}

// Deletes are the datasets that the stack deletes once its inventory no longer has them: it had them at its latest successful up, and has
// not been protected since.
func (k *DatasetKeeper) Deletes() []string { return k.deletes }

// giveUpEmpty allows the loss of datasets of the pool without others in them, the innermost first, but for those that stay.
func (k *DatasetKeeper) giveUpEmpty(stays []site.Dataset, byHand []string) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(k.names))) {
		inPool := strings.HasPrefix(name, pool)
		if inPool && !hasOthers(slices.Collect(maps.Keys(k.names)), name) && !wants(stays, name) && !slices.Contains(byHand, name) {
			delete(k.names, name)
		}
	}
}

// Lost returns the datasets that were lost.
func (k *DatasetKeeper) Lost(seen NAS) []Violation {
	b := &broken{invariant: Kept}
	for _, name := range slices.Sorted(maps.Keys(k.names)) {
		if _, found := seen.Datasets[name]; !found {
			b.say("the dataset %s is lost", name)
		}
	}
	return b.found
}
