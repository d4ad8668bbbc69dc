package truenas

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Types of datasets.
const (
	filesystem = "FILESYSTEM"
	volume     = "VOLUME"
)

// dataset is a dataset of ZFS.
type dataset struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Local are the properties that are set on it, by their names in ZFS.
	Local map[string]string `json:"local"`
	// User are the user properties that are set on it.
	User map[string]string `json:"user,omitempty"`
	// Written is what its own data take, in bytes.
	Written int64 `json:"written,omitempty"`
}

// parentName returns the name of the dataset above; empty for a root dataset.
func parentName(name string) string {
	at := strings.LastIndexByte(name, '/')
	return name[:max(at, 0)]
}

func poolOf(name string) string {
	pool, _, _ := strings.Cut(name, "/")
	return pool
}

func (b *Box) dataset(name string) *dataset {
	at := slices.IndexFunc(b.state.Datasets, func(d *dataset) bool { return d.Name == name })
	if at < 0 {
		return nil
	}
	return b.state.Datasets[at]
}

// below returns the datasets inside another, at any depth.
func (b *Box) below(name string) []*dataset {
	var list []*dataset
	for _, d := range b.state.Datasets {
		if strings.HasPrefix(d.Name, name+"/") {
			list = append(list, d)
		}
	}
	return list
}

// property describes a property of ZFS as the API has it.
type property struct {
	api, zfs string
	// initial is the value that ZFS starts with.
	initial string
	// inherited properties come from the parent unless they are set.
	inherited bool
	// number properties are sizes in bytes.
	number bool
	// verbatim values are not written in capitals.
	verbatim bool
	// of is the only type of dataset that has it; empty for both.
	of string
}

// properties of datasets that are emulated. The initial values are those of OpenZFS 2.3.
var properties = []property{
	{api: "comments", zfs: "org.freenas:description", inherited: true, verbatim: true},
	{api: "managedby", zfs: "truenas:managed_by", inherited: true, verbatim: true},
	{api: "compression", zfs: "compression", initial: "on", inherited: true},
	{api: "sync", zfs: "sync", initial: "standard", inherited: true},
	{api: "checksum", zfs: "checksum", initial: "on", inherited: true},
	{api: "deduplication", zfs: "dedup", initial: "off", inherited: true},
	{api: "readonly", zfs: "readonly", initial: "off", inherited: true},
	{api: "exec", zfs: "exec", initial: "on", inherited: true},
	{api: "copies", zfs: "copies", initial: "1", inherited: true},
	{api: "snapdir", zfs: "snapdir", initial: "hidden", inherited: true},
	{api: "reservation", zfs: "reservation", initial: "0", number: true},
	{api: "refreservation", zfs: "refreservation", initial: "0", number: true},
	{api: "quota", zfs: "quota", initial: "0", number: true, of: filesystem},
	{api: "refquota", zfs: "refquota", initial: "0", number: true, of: filesystem},
	{api: "recordsize", zfs: "recordsize", initial: "131072", number: true, inherited: true, of: filesystem},
	{api: "atime", zfs: "atime", initial: "on", inherited: true, of: filesystem},
	{api: "acltype", zfs: "acltype", initial: "off", inherited: true, of: filesystem},
	{api: "aclmode", zfs: "aclmode", initial: "discard", inherited: true, of: filesystem},
	{api: "casesensitivity", zfs: "casesensitivity", initial: "sensitive", of: filesystem},
	{api: "volsize", zfs: "volsize", number: true, of: volume},
	{api: "volblocksize", zfs: "volblocksize", initial: "16384", number: true, of: volume},
}

// ofNewPool are the properties that TrueNAS sets on the root dataset of a new pool (plugins/pool_/pool.py, do_create).
func ofNewPool() map[string]string {
	return map[string]string{"atime": "off", "aclmode": "discard", "acltype": "posix", "compression": "lz4"}
}

// valueOf returns a property's value on a dataset, and where it comes from: LOCAL, INHERITED with the dataset that has it, or DEFAULT.
func (b *Box) valueOf(p property, d *dataset) (value, source, from string) {
	if own, set := d.Local[p.zfs]; set {
		return own, "LOCAL", ""
	}
	for name := parentName(d.Name); p.inherited && name != ""; name = parentName(name) {
		if above := b.dataset(name); above != nil {
			if set, is := above.Local[p.zfs]; is {
				return set, "INHERITED", name
			}
		}
	}
	return p.initial, "DEFAULT", ""
}

// propertyEntry is a property as the API answers it.
func (b *Box) propertyEntry(p property, d *dataset) entry {
	value, source, from := b.valueOf(p, d)
	one := entry{"rawvalue": value, "source": source, "source_info": nil}
	if from != "" {
		one["source_info"] = from
	}
	switch {
	case p.number:
		size, err := strconv.ParseInt(value, 10, 64)
		one["parsed"], one["value"] = any(size), any(human(size))
		if err != nil || size == 0 {
			one["parsed"], one["value"] = nil, nil
		}
	case p.verbatim:
		one["parsed"], one["value"] = value, value
	default:
		one["parsed"], one["value"] = parsed(value), strings.ToUpper(value)
	}
	return one
}

// parsed returns a value as py-libzfs parses it: switches become booleans.
func parsed(value string) any {
	switch value {
	case "on":
		return true
	case "off":
		return false
	default:
		return value
	}
}

// human writes a size as ZFS does: 128K, 1.50G.
func human(size int64) string {
	if size < 1024 {
		return strconv.FormatInt(size, 10)
	}
	at := min(int(math.Log2(float64(size))/10), 6)
	unit := int64(1) << (10 * at)
	if size%unit == 0 {
		return strconv.FormatInt(size/unit, 10) + string("KMGTPE"[at-1])
	}
	return fmt.Sprintf("%.2f%c", float64(size)/float64(unit), "KMGTPE"[at-1])
}

// used is what a dataset takes with all below it. An empty one takes 96 KiB.
func (b *Box) used(d *dataset) int64 {
	used := d.Written + 96<<10
	for _, below := range b.below(d.Name) {
		used += below.Written + 96<<10
	}
	return used
}

// available is what can be written to a dataset: the rest of the pool, or of a quota above it.
func (b *Box) available(d *dataset) int64 {
	rest := int64(math.MaxInt64)
	for _, pool := range b.state.Pools {
		if pool.Name == poolOf(d.Name) {
			rest = pool.Size - b.used(b.dataset(pool.Name))
		}
	}
	for name := d.Name; name != ""; name = parentName(name) {
		above := b.dataset(name)
		if quota, _ := strconv.ParseInt(above.Local["quota"], 10, 64); quota > 0 {
			rest = min(rest, quota-b.used(above))
		}
	}
	return max(rest, 0)
}

// datasetEntry is a dataset as the API answers it (api/v25_10_5/pool_dataset.py, PoolDatasetEntry).
func (b *Box) datasetEntry(d *dataset, children bool) entry {
	locked := b.fails(faultLocked, "")
	one := entry{
		"id": d.Name, "name": d.Name, "pool": poolOf(d.Name), "type": d.Type, "encrypted": locked, "encryption_root": nil,
		"key_loaded": nil, "locked": locked, "mountpoint": "/mnt/" + d.Name, "user_properties": b.userProperties(d), "children": []any{},
	}
	if d.Type == volume || locked {
		one["mountpoint"] = nil
	}
	for _, p := range properties {
		if p.of == "" || p.of == d.Type {
			one[p.api] = b.propertyEntry(p, d)
		}
	}
	for name, size := range map[string]int64{
		"used": b.used(d), "usedbydataset": d.Written + 96<<10, "usedbychildren": b.used(d) - d.Written - 96<<10, "usedbysnapshots": 0,
		"available": b.available(d),
	} {
		one[name] = entry{"rawvalue": strconv.FormatInt(size, 10), "parsed": size, "value": human(size), "source": "NONE", "source_info": nil}
	}
	if children {
		list := []any{}
		for _, below := range b.below(d.Name) {
			if parentName(below.Name) == d.Name {
				list = append(list, b.datasetEntry(below, true))
			}
		}
		one["children"] = list
	}
	return copyOf(one).(entry)
}

// userProperties are inherited like any other.
func (b *Box) userProperties(d *dataset) entry {
	all := entry{}
	for name := d.Name; name != ""; name = parentName(name) {
		above := b.dataset(name)
		if above == nil {
			continue
		}
		for key, value := range above.User {
			source := "LOCAL"
			if name != d.Name {
				source = "INHERITED"
			}
			if _, nearer := all[key]; !nearer {
				all[key] = entry{"rawvalue": value, "parsed": value, "value": value, "source": source, "source_info": nil}
			}
		}
	}
	return all
}
