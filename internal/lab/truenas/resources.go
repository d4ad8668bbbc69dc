package truenas

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// resourceQuery is the parameter of zfs.resource.query (api/v25_10_5/zfs_resource_crud.py, ZFSResourceQuery).
var resourceQuery = model{
	{"paths", listOf(text), []any{}}, {"properties", orNull(listOf(text)), []any{}}, {"get_user_properties", boolean, false}, {"get_source", boolean, true},
	{"nest_results", boolean, false}, {"get_children", boolean, false},
}

// resourceMethods are those of 25.10 and later. The roles of datasets do not open them (plugins/zfs/resource_crud.py).
func (b *Box) resourceMethods() map[string]method {
	return map[string]method{"zfs.resource.query": {
		roles: []string{"ZFS_RESOURCE_READ", "READONLY_ADMIN", "SHARING_ADMIN"}, parameters: model{{"data", resourceQuery.object, entry{}}},
		work: func(_ *connection, params []any) (any, error) { return b.queryResources(params[0].(entry)) },
	}}
}

// queryResources returns datasets by their paths, with properties that are sizes.
func (b *Box) queryResources(asked entry) (any, error) {
	properties, _ := asked["properties"].([]any)
	paths := anyList(asked["paths"])
	if asked["get_children"] == true || asked["nest_results"] == true || asked["get_user_properties"] == true || len(properties) == 0 || len(paths) == 0 {
		return nil, errors.New("zfs.resource.query without paths and properties, with children or with user properties is not emulated")
	}
	list := []any{}
	for _, path := range paths {
		name := words(path)
		if strings.Contains(name, "@") {
			return nil, invalids{{"zfs.resource.query", "Querying snapshot information is unsupported at this time.", syscall.EINVAL}}
		}
		found := b.dataset(name)
		if found == nil {
			return nil, invalids{{"zfs.resource.query", "'" + name + "': not found", syscall.ENOENT}}
		}
		values, err := b.sizes(found, properties, asked["get_source"] == true)
		if err != nil {
			return nil, err
		}
		list = append(list, entry{
			"createtxg": 1, "guid": slices.Index(b.state.Datasets, found) + 1, "name": name, "pool": poolOf(name), "type": found.Type,
			"properties": values, "user_properties": nil, "children": nil,
		})
	}
	return list, nil
}

// sizes returns the properties as zfs.resource.query has them: raw, value and source.
func (b *Box) sizes(of *dataset, properties []any, source bool) (entry, error) {
	known := map[string]int64{"available": b.available(of), "used": b.used(of)}
	values := entry{}
	for _, name := range properties {
		size, is := known[words(name)]
		if !is {
			return nil, errors.New("zfs.resource.query of the property " + words(name) + " is not emulated")
		}
		one := entry{"raw": strconv.FormatInt(size, 10), "value": size, "source": nil}
		if source {
			one["source"] = entry{"type": "NONE", "value": nil}
		}
		values[words(name)] = one
	}
	return values, nil
}
