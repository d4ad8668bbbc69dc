package removal

import (
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// Spares returns why etcd cannot do without the member of a control plane, which may have a successor.
func Spares(name, successor string, stay []string, members []nodeops.EtcdMember) error {
	own := find(members, name, "")
	c := ControlPlane{Node: Node{Name: name}, Successor: successor}
	for _, name := range stay {
		c.Stay = append(c.Stay, rolling.Node{Name: name, ControlPlane: true})
	}
	return c.spares(members, *own)
}
