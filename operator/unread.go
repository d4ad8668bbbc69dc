package operator

import (
	"maps"
	"slices"
	"sync"
)

// unreadChanges are the nodes whose machine configuration changes only in what they do not read while they run, as the program reports
// them. The zero value is ready.
type unreadChanges struct {
	mutex sync.Mutex
	nodes map[string]bool
}

func (u *unreadChanges) note(node string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.nodes == nil {
		u.nodes = map[string]bool{}
	}
	u.nodes[node] = true
}

// names returns the nodes, sorted.
func (u *unreadChanges) names() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return slices.Sorted(maps.Keys(u.nodes))
}
