package artifacts

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Awaited is the resource whose operation another one waited for.
type Awaited struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// awaited returns the operation that another one waited for: the last to end of those that had to end before it could begin; nil if there
// was none. The engine creates a resource after those that it depends on, and deletes it after those that depend on it.
func awaited(of operation, operations []operation, dependencies map[resource.URN][]resource.URN) *Awaited {
	var last *operation
	for i := range operations {
		one := &operations[i]
		if one.kind == apitype.OpSame || one.outcome == outcomeUnfinished || one.ended.After(of.began) || !precedes(*one, of, dependencies) {
			continue
		}
		if last == nil || one.ended.After(last.ended) {
			last = one
		}
	}
	if last == nil {
		return nil
	}
	return &Awaited{Name: last.urn.Name(), Type: string(last.urn.Type())}
}

// precedes reports whether the engine ends one operation before it begins another.
func precedes(one, other operation, dependencies map[resource.URN][]resource.URN) bool {
	if one.urn == other.urn {
		return one.began.Before(other.began) // the parts of a replacement
	}
	from, to := other.urn, one.urn
	if isDelete(one.kind) != isDelete(other.kind) {
		return false // of a replacement and its dependents, which the state before and after it orders differently
	}
	if isDelete(other.kind) {
		from, to = to, from
	}
	for _, needed := range dependencies[from] {
		if needed == to {
			return true
		}
	}
	return false
}

func isDelete(kind apitype.OpType) bool {
	return strings.HasPrefix(string(kind), string(apitype.OpDelete))
}
