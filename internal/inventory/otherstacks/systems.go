package otherstacks

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/workspace"
)

// Resolve finds the addresses of the systems of other stacks that the inventory of a cluster names. dir is a folder of the project. The project is
// searched for only if the inventory names such a system. The error is an [inventory.Problems] with everything that cannot be found, or the reason
// why files cannot be read.
func Resolve(inv *inventory.Inventory, dir string) error {
	if len(inv.Cluster.Network.NamedSystems()) == 0 {
		return nil
	}
	root, err := workspace.FindRoot(dir)
	if err != nil {
		return err
	}
	return inv.Resolve(func(stack string) (inventory.Systems, error) {
		found, err := Systems(root, stack)
		if err != nil {
			return nil, err
		}
		return Named(found), nil
	})
}

// Systems loads the inventory of a stack of systems of a project. An error that is a [*strictyaml.Fault] is the reason why the stack cannot be named.
func Systems(root, stack string) (*systems.Inventory, error) {
	stacks, err := workspace.Stacks(root)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(stacks, stack) {
		problem := &strictyaml.Fault{
			What: "names a stack that the project does not have", Rule: "a stack has a file Pulumi.STACK.yaml beside Pulumi.yaml", Got: stack,
			Do: "name a stack of systems, or write the address of the server",
		}
		if near := strictyaml.Nearest(stack, stacks); near != "" {
			problem.Do = "did you mean " + near + "?"
		}
		return nil, problem
	}
	place, err := workspace.Real(root, stack, "")
	if err != nil {
		return nil, err
	}
	return systemsIn(place)
}

// systemsIn loads the inventory of a stack.
func systemsIn(place *workspace.Workspace) (*systems.Inventory, error) {
	dir := workspace.Nearby(place.Inventory)
	kind, err := manifest.KindOf(dir)
	if err == nil && kind != manifest.Systems {
		return nil, &strictyaml.Fault{
			What: "names a stack that has no systems", Rule: "there is no " + filepath.ToSlash(filepath.Join(dir, manifest.SystemsFile)), Got: place.Stack,
			Do: "name a stack of systems, or write the address of the server",
		}
	}
	var loaded *systems.Inventory
	if err == nil {
		loaded, err = systems.Load(dir)
	}
	if errors.As(err, new(*manifest.Problems)) {
		return nil, &strictyaml.Fault{
			What: "names a stack whose inventory is not valid", Got: place.Stack, Do: "see `em-infra validate --stack " + place.Stack + "`",
		}
	}
	return loaded, err
}

// Named returns the systems of an inventory as a cluster names them.
func Named(inv *systems.Inventory) inventory.Systems { return named{inv.File.Systems()} }

type named struct{ all []systems.System }

// AddressesOf implements [inventory.Systems].
func (n named) AddressesOf(name string) ([]netip.Addr, bool) {
	at := slices.IndexFunc(n.all, func(s systems.System) bool { return s.Name == name })
	if at < 0 {
		return nil, false
	}
	return n.all[at].Addresses(), true
}

// Names implements [inventory.Systems].
func (n named) Names() []string {
	names := make([]string, len(n.all))
	for at, one := range n.all {
		names[at] = one.Name
	}
	return names
}
