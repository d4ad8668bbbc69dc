package lab

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/lab/control"
	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/truenas"
)

// FaultKinds returns all faults of a lab: of the host, of its nodes, and of the Image Factory.
func FaultKinds() []fault.Kind {
	return slices.Concat(proxmox.FaultKinds(), talos.FaultKinds(), factoryFaults, truenas.Faults)
}

// console handles requests to the lab from outside its emulated APIs. Faults belong to the lab's process, not to the host: a
// restarted lab has none.
type console struct {
	faults *fault.Set
	host   *proxmox.Server
}

var _ control.Lab = (*console)(nil)

func newFaults(seed string) *fault.Set {
	return fault.NewSet(sha256.Sum256([]byte("faults "+seed)), FaultKinds())
}

// Faults implements [control.Lab].
func (c *console) Faults() []fault.State { return c.faults.List() }

// SetFault implements [control.Lab]. It refuses an unknown host or endpoint: such a fault would never occur, and the user
// would not notice.
func (c *console) SetFault(f fault.Fault) error {
	err := errors.Join(known("host", f.Node, c.host.HostNames()), known("endpoint", f.Endpoint, endpoints()))
	if err == nil {
		err = c.faults.Set(f)
	}
	return refuse(err)
}

// ClearFaults implements [control.Lab].
func (c *console) ClearFaults(name string) (int, error) {
	count, err := c.faults.Clear(name)
	return count, refuse(err)
}

// Unlock implements [control.Lab].
func (c *console) Unlock(ctx context.Context, vmid int) error {
	return refuse(c.host.Unlock(ctx, vmid))
}

// Reset implements [control.Lab].
func (c *console) Reset(ctx context.Context, vmid int) error {
	return refuse(c.host.Reset(ctx, vmid))
}

// SetUp implements [control.Lab].
func (c *console) SetUp(host string, change proxmox.SetupChange) error {
	return refuse(c.host.SetUp(host, change))
}

func refuse(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", control.ErrRefused, err)
}

// known returns an error for a name that is not in names. An empty name is accepted.
func known(what, name string, names []string) error {
	if name == "" || slices.Contains(names, name) {
		return nil
	}
	do := "see docs/testing.md for those there are"
	if near := strictyaml.Nearest(name, names); near != "" {
		do = "did you mean " + near + "?"
	}
	return fmt.Errorf("%w: there is no %s %q: %s", fault.ErrFault, what, name, do)
}

// endpoints returns the methods that a fault can be limited to: paths of Proxmox VE, full method names of Talos, methods of
// TrueNAS.
func endpoints() []string {
	var all []string
	for _, e := range proxmox.Endpoints() {
		all = append(all, e.Path)
	}
	slices.Sort(all)
	return slices.Concat(slices.Compact(all), talos.Methods(), truenas.Methods())
}
