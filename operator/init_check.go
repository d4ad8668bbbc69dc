package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/systems"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/newproject"
	"github.com/em-infra/em-infra/operator/internal/newstack"
	"github.com/em-infra/em-infra/operator/internal/preflight"
)

// examine checks the new files as validate and preflight will. What a stack of hosts beside it has yet to make may be missing.
func (o InitOptions) examine(ctx context.Context, site newstack.Site, target initTarget, files newproject.Files) (Content, Checks, error) {
	content, err := parseNew(target, o.Answers, files)
	if err != nil {
		return nil, nil, refused(err)
	}
	if guests, hasGuests := content.(inventory.Claimant); hasGuests {
		for _, beside := range site.Beside {
			if err := compareWith(guests, beside); err != nil {
				return nil, nil, refused(err)
			}
		}
	}
	checks, err := o.preflight(ctx, content, site)
	if err != nil {
		return nil, nil, err
	}
	var failed []error
	for _, check := range checks {
		if check.Result == preflight.Fail && check.MadeBy == "" {
			failed = append(failed, fmt.Errorf("%s: %s", check.Sentence, check.Remedy))
		}
	}
	return content, checks, refused(errors.Join(failed...))
}

// preflight checks whether the hosts can bear the new stack.
func (o InitOptions) preflight(ctx context.Context, content Content, site newstack.Site) (Checks, error) {
	if layer, isLayer := content.(layer); isLayer {
		return layer.examine(ctx, layerFacts{host: o.host(), makers: site.Makers})
	}
	inv, isPlatform := content.(*inventory.Inventory)
	if !isPlatform {
		return nil, fmt.Errorf("a new stack of the kind %s is neither a platform nor a layer", content.Kind())
	}
	factory, err := factoryURL(cmp.Or(o.ImageFactory, components.ImageFactory))
	if err != nil {
		return nil, err
	}
	return preflight.Run(ctx, preflight.Subject{Inventory: inv, Host: o.host(), Factory: factory, Owner: ownership.Owner{Stack: o.Answers.Stack}, Makers: site.Makers, Box: o.box(inv)})
}

// parseNew parses the inventory of files that are not written yet.
func parseNew(target initTarget, answers InitAnswers, files newproject.Files) (Content, error) {
	paths := newstack.PathsOf(answers).Inventory
	dir := workspace.Nearby(filepath.Dir(filepath.Join(target.root, filepath.FromSlash(paths[0]))))
	switch answers.Kind {
	case manifest.Hosts:
		inv, err := hosts.Parse(dir, files[paths[0]])
		return hostsLayer{inv}, err
	case manifest.Systems:
		inv, err := systems.Parse(dir, files[paths[0]])
		return systemsLayer{inv}, err
	default:
		return inventory.Parse(dir, files[paths[0]], files[paths[1]])
	}
}
