package operator

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/otherstacks"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
)

// Kind is what a stack brings up. It follows from the files of its inventory.
type Kind = manifest.Kind

// The kinds of stacks.
const (
	KindPlatform = manifest.Platform
	KindHosts    = manifest.Hosts
	KindSystems  = manifest.Systems
)

// Content is the inventory of a stack of any kind.
type Content interface {
	// Kind returns the kind of the stack.
	Kind() Kind
	// Summary returns the inventory in one line.
	Summary() string
	// Hosts returns the nodes of Proxmox VE that it concerns.
	Hosts() []string
	// Files returns its files with all defaults.
	Files() ([]manifest.EffectiveFile, error)
}

// LoadContent loads the inventory in a folder, whatever its kind is. The error contains all its problems. What it names of other stacks is not
// looked up: that needs their project.
func LoadContent(dir string) (Content, error) {
	kind, err := manifest.KindOf(dir)
	if err != nil {
		return nil, err
	}
	switch kind {
	case manifest.Hosts:
		return hostsOf(dir)
	case manifest.Systems:
		return systemsOf(dir)
	default:
		return platformOf(dir)
	}
}

func platformOf(dir string) (Content, error) {
	inv, err := inventory.Load(dir)
	if err != nil {
		return nil, err
	}
	return inv, nil
}

func hostsOf(dir string) (Content, error) {
	inv, err := hosts.Load(dir)
	if err != nil {
		return nil, err
	}
	return hostsLayer{inv}, nil
}

func systemsOf(dir string) (Content, error) {
	inv, err := systems.Load(dir)
	if err != nil {
		return nil, err
	}
	return systemsLayer{inv}, nil
}

// SecretPaths returns the paths in secrets.sops.yaml of the secrets that a stack needs, in the order in which a run asks for them.
func SecretPaths(content Content) []string {
	switch content := content.(type) {
	case *inventory.Inventory:
		return stacks.SecretPaths(content.Cluster)
	case hostsLayer:
		return stacks.HostSecretPaths(content.Inventory)
	default:
		return nil
	}
}

// Content loads the stack's inventory, whatever its kind is. The error contains all its problems.
func (o *Operator) Content() (Content, error) { return contentOf(o.workspace) }

// contentOf loads the inventory of a stack, with what it names of other stacks.
func contentOf(w *workspace.Workspace) (Content, error) {
	content, err := LoadContent(workspace.Nearby(w.Inventory))
	if err != nil {
		return nil, err
	}
	if inv, isPlatform := content.(*inventory.Inventory); isPlatform {
		if err := otherstacks.Resolve(inv, w.Root); err != nil {
			return nil, err
		}
	}
	return content, nil
}

// take reads the stack's inventory into the session. A stack that is no platform is refused by operations that work on a cluster.
func (s *session) take(needed needs) error {
	content, err := s.Content()
	if err != nil {
		return err
	}
	if layer, isLayer := content.(layer); isLayer {
		if !needed.anyKind && (!needed.systems || content.Kind() != KindSystems) {
			return &inventory.OtherKindError{Dir: workspace.Nearby(s.workspace.Inventory), Kind: content.Kind()}
		}
		s.layer, s.engine.content = layer, layer
		if guests, hasGuests := content.(inventory.Claimant); hasGuests && needed.newStack {
			if err := s.checkBeside(guests); err != nil {
				return err
			}
			return s.checkNamed(content)
		}
		return nil
	}
	inv, isPlatform := content.(*inventory.Inventory)
	if !isPlatform {
		return errOtherContent(content)
	}
	s.work(inv)
	if !needed.newStack {
		return nil
	}
	if err := s.checkBeside(inv); err != nil {
		return err
	}
	return s.checkSealing(inv)
}

// errOtherContent is the error of a kind of stack that this code does not know.
func errOtherContent(content Content) error {
	return fmt.Errorf("a stack of the kind %s is neither a platform nor a layer", content.Kind())
}
