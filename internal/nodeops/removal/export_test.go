package removal

import (
	"context"
	"io"
	"time"

	"k8s.io/client-go/kubernetes"

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

// Impatient returns the removal of a node that counts as unreachable when it has been silent for the given time, and that waits no longer
// for a control plane.
func Impatient(n Node, patience time.Duration) Node {
	n.patience = patience
	return n
}

// Alone runs work instead of the removal of a control plane, while it holds the Lease.
func Alone(ctx context.Context, name string, api *kubernetes.Clientset, work func(context.Context) error) error {
	return ControlPlane{Node: Node{Name: name, Progress: io.Discard}, Limits: Limits{}.withDefaults()}.alone(ctx, api, work)
}
