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

// StorageWhole returns what of the NAS is not as `storage:` says.
func StorageWhole(want site.Storage, seen NAS) []Violation {
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
	return b.found
}

// DatasetKeeper records which datasets must not be lost.
type DatasetKeeper struct{ names map[string]bool }

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

// GiveUpEmpty allows the loss of datasets of the stack without others in them, but for those that stay: what is left out of an inventory that
// does not protect them.
func (k *DatasetKeeper) GiveUpEmpty(stays []site.Dataset, byHand []string) {
	for _, name := range slices.Sorted(maps.Keys(k.names)) {
		inside := slices.ContainsFunc(slices.Collect(maps.Keys(k.names)), func(one string) bool { return strings.HasPrefix(one, name+"/") })
		wanted := slices.ContainsFunc(stays, func(d site.Dataset) bool { return pool+d.Name == name })
		if !inside && !wanted && !slices.Contains(byHand, name) {
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
