package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/siderolabs/go-kubernetes/kubernetes/upgrade"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/versions"
)

// checkRemoved refuses an upgrade to a minor that lacks what the cluster uses: with a flag or a feature gate that its release
// does not know, a component ends as soon as it starts; an object of an API that is gone can no longer be read.
func (u Upgrade) checkRemoved(ctx context.Context, seen *survey) error {
	from := seen.lowest()
	if from.Minor() == u.To.Minor() {
		return nil
	}
	if !isKnown(u.To.Minor()) {
		u.say("which flags and feature gates Kubernetes %s has removed is not known to this version of em-infra: compare extraArgs with its changelog", u.To.Minor())
	}
	var problems []error
	for _, m := range seen.members {
		found, err := u.removedArguments(ctx, m, from)
		if err != nil {
			return fmt.Errorf("%s does not give the arguments of its components (%w): run up again", m.Name, err)
		}
		problems = append(problems, found...)
	}
	objects, err := u.removedObjects(ctx, from)
	if err != nil {
		return fmt.Errorf("the objects of APIs that %s has removed cannot be listed (%w): run up again", u.To, err)
	}
	return errors.Join(append(problems, objects...)...)
}

// removedArguments returns an error for each argument of a component of one node that the wanted minor no longer knows.
func (u Upgrade) removedArguments(ctx context.Context, m member, from versions.Version) ([]error, error) {
	var found upgrade.ComponentRemovedItemsError
	err := u.call(ctx, m.Node, func(ctx context.Context, api *client.Client) error {
		if err := u.listed(ctx, api, m, from, &found); err != nil {
			return err
		}
		return u.unlisted(ctx, api, m, &found)
	})
	if err != nil {
		return nil, err
	}
	var problems []error
	add := func(items []upgrade.ComponentItem, kind string) {
		for _, item := range slices.Compact(sorted(items)) {
			problems = append(problems, fmt.Errorf("%s on %s is started with the %s %s, which %s does not know: take it out of the patches of the inventory, run up, then upgrade", item.Component, m.Name, kind, item.Value, u.To.Minor()))
		}
	}
	add(found.CLIFlags, "flag")
	add(found.FeatureGates, "feature gate")
	add(found.AdmissionFlags, "admission plugin")
	return problems, nil
}

func sorted(items []upgrade.ComponentItem) []upgrade.ComponentItem {
	slices.SortFunc(items, func(a, b upgrade.ComponentItem) int {
		return strings.Compare(a.Component+a.Value, b.Component+b.Value)
	})
	return items
}

// listed asks the tables of go-kubernetes, which end with the minor of the release that is linked.
func (u Upgrade) listed(ctx context.Context, api *client.Client, m member, from versions.Version, found *upgrade.ComponentRemovedItemsError) error {
	path, err := upgrade.NewPath(from.String(), u.To.String())
	if err != nil {
		return err
	}
	var controlPlanes, workers []string
	if m.ControlPlane {
		controlPlanes = []string{m.Address.String()}
	} else {
		workers = []string{m.Address.String()}
	}
	// Without a client for the Kubernetes API it checks the arguments only.
	checks, err := upgrade.NewChecks(path, api.COSI, nil, controlPlanes, workers, func(string, ...any) {})
	if err != nil {
		return err
	}
	err = checks.Run(ctx)
	if errors.As(err, found) {
		return nil
	}
	return err
}
