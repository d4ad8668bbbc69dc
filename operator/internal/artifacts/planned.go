package artifacts

import (
	"maps"
	"sync"
)

// Planned collects the machine configurations that a program plans, before they are applied. The zero value is ready.
type Planned struct {
	mutex sync.Mutex
	nodes map[string]string
}

// Take stores the configuration of a node by its logical name.
func (p *Planned) Take(node, configuration string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.nodes == nil {
		p.nodes = map[string]string{}
	}
	p.nodes[node] = configuration
}

// Over returns the applied configurations, replaced by the planned ones where both exist.
func (p *Planned) Over(applied map[string]string) map[string]string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	all := maps.Clone(applied)
	maps.Copy(all, p.nodes)
	return all
}
