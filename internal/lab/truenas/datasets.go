package truenas

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var compressions = func() []string {
	list := []string{"ON", "OFF", "LZ4", "GZIP", "GZIP-1", "GZIP-9", "ZSTD", "ZSTD-FAST", "ZLE", "LZJB"}
	for level := 1; level <= 19; level++ {
		list = append(list, fmt.Sprintf("ZSTD-%d", level))
	}
	for _, level := range []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 500, 1000} {
		list = append(list, fmt.Sprintf("ZSTD-FAST-%d", level))
	}
	return append(list, "INHERIT")
}()

// recordSizes are the choices of a pool without dRAID (plugins/pool_/dataset_info.py, recordsize_choices).
var recordSizes = []string{"512", "512B", "1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M"}

var onOff = oneOf("ON", "OFF", "INHERIT")

// quota is a size of at least 1 GiB, or none. The real box refuses a value once for each of the two branches of the union; here only
// the first refusal is returned.
var quota = atLeast(1<<30, nil, "0")

var userProperty = model{{"key", text, required}, {"value", text, required}}

var userPropertyUpdate = model{{"key", text, required}, {"value", text, unset}, {"remove", boolean, unset}}

// commonFields are those of both types (api/v25_10_5/pool_dataset.py, PoolDatasetCreate).
var commonFields = model{
	{"name", nonEmpty, required}, {"comments", text, "INHERIT"}, {"sync", oneOf("STANDARD", "ALWAYS", "DISABLED", "INHERIT"), "INHERIT"},
	{"snapdev", oneOf("HIDDEN", "VISIBLE", "INHERIT"), unset}, {"compression", oneOf(compressions...), "INHERIT"}, {"exec", onOff, "INHERIT"},
	{"managedby", nonEmpty, "INHERIT"}, {"quota_warning", anything, "INHERIT"}, {"quota_critical", anything, "INHERIT"},
	{"refquota_warning", anything, "INHERIT"}, {"refquota_critical", anything, "INHERIT"}, {"reservation", integer, unset},
	{"refreservation", integer, unset}, {"special_small_block_size", anything, unset}, {"copies", anything, "INHERIT"},
	{"snapdir", oneOf("DISABLED", "VISIBLE", "HIDDEN", "INHERIT"), "INHERIT"},
	{"deduplication", oneOf("ON", "VERIFY", "OFF", "INHERIT"), "INHERIT"}, {"checksum", anything, "INHERIT"}, {"readonly", onOff, "INHERIT"},
	{"share_type", oneOf("GENERIC", "MULTIPROTOCOL", "NFS", "SMB", "APPS"), "GENERIC"}, {"encryption_options", anything, entry{}},
	{"encryption", boolean, false}, {"inherit_encryption", boolean, true}, {"user_properties", listOf(userProperty.object), []any{}},
	{"create_ancestors", boolean, false},
}

var filesystemFields = append(slices.Clone(commonFields),
	field{"type", oneOf(filesystem), filesystem}, field{"aclmode", oneOf("PASSTHROUGH", "RESTRICTED", "DISCARD", "INHERIT"), unset},
	field{"acltype", oneOf("OFF", "NFSV4", "POSIX", "INHERIT"), unset}, field{"atime", onOff, unset},
	field{"casesensitivity", oneOf("SENSITIVE", "INSENSITIVE", "INHERIT"), unset}, field{"quota", quota, unset}, field{"refquota", quota, unset},
	field{"recordsize", text, unset},
)

var volumeFields = append(slices.Clone(commonFields),
	field{"type", oneOf(volume), volume}, field{"force_size", boolean, unset}, field{"sparse", boolean, unset}, field{"volsize", integer, required},
	field{"volblocksize", oneOf("512", "512B", "1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K"), unset},
)

// updateFields are those that can change (PoolDatasetUpdate).
var updateFields = append(
	append(slices.Clone(filesystemFields), volumeFields[len(commonFields)+1:]...), field{"user_properties_update", listOf(userPropertyUpdate.object), unset},
).forUpdate("name", "type", "casesensitivity", "share_type", "sparse", "volblocksize", "encryption", "encryption_options", "inherit_encryption")

// creation checks the parameter of create, a union of two models. It uses the model that the type names, or that of FILESYSTEM without
// a type.
func creation(value any, at string, problems *invalids) any {
	if given, is := value.(map[string]any); is && given["type"] == volume {
		return volumeFields.object(value, within(at, "PoolDatasetCreateVolume"), problems)
	}
	return filesystemFields.object(value, within(at, "PoolDatasetCreateFilesystem"), problems)
}

func (b *Box) poolMethods() map[string]method {
	return map[string]method{"pool.query": {
		roles: []string{"POOL_READ", "READONLY_ADMIN", "SHARING_ADMIN"}, parameters: queryParameters,
		work: func(_ *connection, params []any) (any, error) {
			var list []entry
			for at, pool := range b.state.Pools {
				allocated := min(b.used(b.dataset(pool.Name)), pool.Size)
				list = append(list, copyOf(entry{
					"id": at + 1, "name": pool.Name, "guid": strconv.Itoa(1000 + at), "path": "/mnt/" + pool.Name, "status": "ONLINE", "healthy": true,
					"warning": false, "size": pool.Size, "allocated": allocated, "free": pool.Size - allocated, "topology": entry{},
				}).(entry))
			}
			return query(list, params[0].([]any), params[1].(entry))
		},
	}}
}

func (b *Box) datasetMethods() map[string]method {
	read, write := []string{"DATASET_READ", "DATASET_WRITE", "READONLY_ADMIN", "SHARING_ADMIN"}, []string{"DATASET_WRITE", "SHARING_ADMIN"}
	return map[string]method{
		"pool.dataset.query": {roles: read, parameters: queryParameters, work: func(_ *connection, params []any) (any, error) {
			options := params[1].(entry)
			extra, _ := options["extra"].(map[string]any)
			return query(b.listDatasets(extra), params[0].([]any), options)
		}},
		"pool.dataset.get_instance": {
			roles: read, parameters: model{{"id", text, required}, {"options", queryOptions.object, entry{}}},
			work: func(_ *connection, params []any) (any, error) { return b.datasetInstance(params[0].(string)) },
		},
		"pool.dataset.create": {
			roles: write, parameters: model{{"data", creation, required}},
			work: func(_ *connection, params []any) (any, error) { return b.createDataset(params[0].(entry)) },
		},
		"pool.dataset.update": {
			roles: write, parameters: model{{"id", text, required}, {"data", updateFields.object, required}},
			work: func(_ *connection, params []any) (any, error) {
				return b.updateDataset(params[0].(string), params[1].(entry))
			},
		},
		"pool.dataset.delete": {
			roles: []string{"DATASET_DELETE"},
			parameters: model{{"id", text, required}, {
				"options", model{{"recursive", boolean, false}, {"force", boolean, false}}.object, entry{"recursive": false, "force": false},
			}},
			work: func(_ *connection, params []any) (any, error) {
				return b.deleteDataset(params[0].(string), params[1].(entry))
			},
		},
	}
}

// listDatasets returns all datasets with what is inside them, or without, as the option retrieve_children says.
func (b *Box) listDatasets(extra map[string]any) []entry {
	children := extra["retrieve_children"] != false
	list := make([]entry, len(b.state.Datasets))
	for i, d := range b.state.Datasets {
		list[i] = b.datasetEntry(d, children)
	}
	return list
}

func (b *Box) datasetInstance(name string) (any, error) {
	found := b.dataset(name)
	if found == nil {
		return nil, notFound{"PoolDataset " + name}
	}
	return b.datasetEntry(found, true), nil
}

// componentName is a part of a dataset's name (plugins/zfs_/validation_utils.py).
var componentName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.: -]*$`)

func (b *Box) createDataset(given entry) (any, error) {
	made := &dataset{Name: given["name"].(string), Type: given["type"].(string), Local: map[string]string{}, User: map[string]string{}}
	if err := b.checkCreation(made, given); err != nil {
		return nil, err
	}
	applyShareType(given)
	made.set(given)
	for _, one := range given["user_properties"].([]any) {
		made.User[one.(entry)["key"].(string)] = one.(entry)["value"].(string)
	}
	if b.fails(faultPoolFull, "") || b.available(b.dataset(parentName(made.Name))) == 0 {
		return nil, callError{syscall.EFAULT, "Failed to create dataset: out of space"}
	}
	b.state.Datasets = append(b.state.Datasets, made)
	return b.datasetEntry(made, true), nil
}

// checkCreation checks what the models cannot (plugins/pool_/dataset.py, do_create and __common_validation).
func (b *Box) checkCreation(made *dataset, given entry) error {
	var problems invalids
	parent := parentName(made.Name)
	switch components := strings.Split(made.Name, "/"); {
	case parent == "":
		problems.add("pool_dataset_create.name", "You need a full name, e.g. pool/newdataset")
	case slices.ContainsFunc(components, func(c string) bool { return !componentName.MatchString(c) }):
		problems.add("data.name", "Value error, Please provide a valid dataset name according to ZFS standards")
	case b.dataset(parent) == nil && len(components) == 2:
		problems.add("pool_dataset_create.name", "zpool (%s) does not exist.", parent)
	case b.dataset(parent) == nil:
		problems.add("pool_dataset_create.name", "Parent dataset (%s) does not exist.", parent)
	case b.dataset(made.Name) != nil:
		problems.add("pool_dataset_create.name", "Path /mnt/%s already exists", made.Name)
	case b.fails(faultLocked, ""):
		problems.add("pool_dataset_create.name", "%s must be unlocked to create %s.", parent, made.Name)
	}
	checkRecordSize(given, "pool_dataset_create", &problems)
	return problems.orNil()
}

func checkRecordSize(given entry, schema string, problems *invalids) {
	if size, is := given["recordsize"].(string); is && size != "INHERIT" && !slices.Contains(recordSizes, size) {
		problems.add(schema+".recordsize", "'%s' is an invalid recordsize.", size)
	}
}

// applyShareType sets what the purpose of a dataset implies (plugins/pool_/dataset.py, do_create).
func applyShareType(given entry) {
	switch given["share_type"] {
	case "SMB":
		given["casesensitivity"], given["acltype"], given["aclmode"] = "INSENSITIVE", "NFSV4", "RESTRICTED"
	case "APPS", "MULTIPROTOCOL", "NFS":
		given["casesensitivity"], given["atime"], given["acltype"], given["aclmode"] = "SENSITIVE", "OFF", "NFSV4", "PASSTHROUGH"
	}
}

// set changes the properties that are given. INHERIT removes one, where it can be inherited.
func (d *dataset) set(given entry) {
	for _, p := range properties {
		value, there := given[p.api]
		switch {
		case !there:
		case p.inherited && value == "INHERIT":
			delete(d.Local, p.zfs)
		default:
			d.Local[p.zfs] = p.raw(value)
		}
	}
}

// raw returns a value as ZFS has it.
func (p property) raw(value any) string {
	switch v := value.(type) {
	case nil:
		return "0"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		if p.number {
			return strconv.FormatInt(bytesOf(v), 10)
		}
		if p.verbatim {
			return v
		}
		return strings.ToLower(v)
	default:
		return strings.ToLower(words(v))
	}
}

// bytesOf reads a size such as 128K.
func bytesOf(size string) int64 {
	number := strings.TrimRight(size, "BKMG")
	whole, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	switch strings.TrimSuffix(size[len(number):], "B") {
	case "K":
		return whole << 10
	case "M":
		return whole << 20
	case "G":
		return whole << 30
	default:
		return whole
	}
}

func (b *Box) updateDataset(name string, given entry) (any, error) {
	found := b.dataset(name)
	if found == nil {
		return nil, invalids{{"id", name + " does not exist", syscall.ENOENT}}
	}
	var problems invalids
	checkRecordSize(given, "pool_dataset_update", &problems)
	for _, p := range properties {
		if _, there := given[p.api]; there && p.of != "" && p.of != found.Type {
			problems.add("pool_dataset_update."+p.api, "This field is not valid for %s", found.Type)
		}
	}
	if size, is := given["volsize"].(int64); is && size < bytesOf(found.Local["volsize"]) {
		problems.add("pool_dataset_update.volsize", "You cannot shrink a zvol from GUI, this may lead to data loss.")
	}
	for _, name := range []string{"quota", "refquota"} {
		if size, is := given[name].(int64); is && size > 0 && size < b.used(found) {
			problems.add("pool_dataset_update."+name, "size is less than current used or reserved space")
		}
	}
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	found.set(given)
	if found.User == nil {
		found.User = map[string]string{}
	}
	for _, one := range anyList(given["user_properties_update"]) {
		if one.(entry)["remove"] == true {
			delete(found.User, one.(entry)["key"].(string))
		} else {
			found.User[one.(entry)["key"].(string)] = words(one.(entry)["value"])
		}
	}
	return b.datasetEntry(found, true), nil
}

func anyList(value any) []any {
	list, _ := value.([]any)
	return list
}

// deleteDataset deletes a dataset and, without asking, the shares of its path (plugins/pool_/dataset.py, do_delete).
func (b *Box) deleteDataset(name string, options entry) (any, error) {
	found, below := b.dataset(name), b.below(name)
	switch {
	case options["recursive"] != true && len(below) > 0:
		return nil, callError{syscall.ENOTEMPTY, fmt.Sprintf("Failed to delete dataset: cannot destroy '%s': filesystem has children", name)}
	case found == nil:
		return nil, notFound{"PoolDataset " + name}
	case parentName(name) == "":
		return nil, callError{syscall.EFAULT, fmt.Sprintf("Failed to delete dataset: cannot destroy '%s': operation does not apply to pools", name)}
	case b.fails(faultBusy, ""):
		return nil, callError{syscall.EBUSY, fmt.Sprintf("Failed to delete dataset: cannot destroy '%s': dataset is busy", name)}
	}
	path := "/mnt/" + name
	b.state.Rows[nfsShares] = slices.DeleteFunc(b.state.Rows[nfsShares], func(share entry) bool {
		exported := words(share["path"])
		return exported == path || strings.HasPrefix(exported, path+"/")
	})
	b.state.Datasets = slices.DeleteFunc(b.state.Datasets, func(d *dataset) bool { return d == found || slices.Contains(below, d) })
	return true, nil
}

// Write puts data into a dataset, as an NFS client does.
func (b *Box) Write(name string, size int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.dataset(name)
	if found == nil {
		return errors.New(name + " does not exist")
	}
	found.Written += size
	return b.save()
}
