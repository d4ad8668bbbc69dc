package discovery

import (
	"slices"

	"github.com/em-infra/em-infra/internal/ownership"
)

// templates returns the template of the cluster on its first host, and those on further hosts: the one that em-infra has made for this cluster,
// else a free VMID, which an up uses for a new one.
func (c Cluster) templates(host, talosClusterID string) templateKeys {
	taken := slices.Clone(c.Taken)
	of := func(node string) (vmid int) {
		at := slices.IndexFunc(c.Templates, func(m Machine) bool {
			owner, isMarked := ownership.In(m.Config["description"])
			return m.Node == node && isMarked && owner.Cluster == ownership.Short(talosClusterID)
		})
		if at >= 0 {
			return c.Templates[at].VMID
		}
		for vmid = firstTemplate; slices.Contains(taken, vmid); vmid++ {
		}
		taken = append(taken, vmid)
		return vmid
	}
	keys := templateKeys{VMID: of(host)}
	for _, node := range c.Nodes {
		if _, known := keys.PerHost[node.Machine.Node]; known || node.Machine.Node == host {
			continue
		}
		if keys.PerHost == nil {
			keys.PerHost = map[string]int{}
		}
		keys.PerHost[node.Machine.Node] = of(node.Machine.Node)
	}
	return keys
}

// firstTemplate is the VMID from which a new template gets its own.
const firstTemplate = 9000
