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
)

// FaultKinds are all failures that a lab can be asked for: those of the host, of its nodes, and of the Image Factory.
func FaultKinds() []fault.Kind {
	return slices.Concat(proxmox.FaultKinds(), talos.FaultKinds(), factoryFaults)
}

// console is what can be asked of the lab from outside of its emulated APIs. Faults are the bench's, not the host's: they
// end with the lab's process, so that a lab that was started again is sound.
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

// SetFault implements [control.Lab]. A fault on a host or a method that does not exist would never occur, and nobody would notice.
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

func refuse(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", control.ErrRefused, err)
}

// known refuses a name that is none of those there are; "" is no name.
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

// endpoints are the methods that a fault can be narrowed to: paths of Proxmox VE, full names of Talos.
func endpoints() []string {
	var all []string
	for _, e := range proxmox.Endpoints() {
		all = append(all, e.Path)
	}
	slices.Sort(all)
	return append(slices.Compact(all), talos.Methods()...)
}
