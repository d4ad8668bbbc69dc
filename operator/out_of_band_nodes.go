package operator

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// askNodes compares the running configuration of each node with the applied one, concurrently.
func (l *outOfBand) askNodes(ctx context.Context, sources status.Sources, applied map[string]state.AppliedConfiguration, members map[string]state.Membership) {
	health := sources.Health()
	found, unread := make([]byHand, len(sources.Inventory.Nodes)), make([]string, len(sources.Inventory.Nodes))
	seen := make([]nodeops.Observation, len(sources.Inventory.Nodes))
	var all sync.WaitGroup
	for i, node := range sources.Inventory.Nodes {
		given, isApplied := applied[node.Address.String()]
		if !isApplied {
			continue
		}
		all.Go(func() {
			var err error
			if seen[i], err = health.Observe(ctx, node.Address.String()); err == nil {
				found[i], err = changedByHand(node, given, seen[i].Configuration)
			}
			if err != nil {
				unread[i] = fmt.Sprintf("%s, whether its machine configuration was changed by hand: %v", node.Name, err)
			}
		})
	}
	all.Wait()
	for i, node := range sources.Inventory.Nodes {
		l.Running.Add(node.Name, seen[i])
	}
	l.ByHand = slices.DeleteFunc(found, func(b byHand) bool { return len(b.paths) == 0 })
	for i, node := range sources.Inventory.Nodes {
		if member, isMember := members[node.Address.String()]; isMember && seen[i].Talos != "" {
			l.ByHand = append(l.ByHand, otherRelease(member, seen[i])...)
		}
	}
	l.Unread = slices.DeleteFunc(unread, func(sentence string) bool { return sentence == "" })
}

// otherRelease returns the change of a node whose release is not the one that the state has: a user upgraded it or rolled an upgrade back, or a run
// was killed before it recorded its upgrade.
func otherRelease(member state.Membership, seen nodeops.Observation) []byHand {
	recorded, err := nodeops.ReleaseOf(member.Image)
	if err != nil || seen.Release().Satisfies(recorded) {
		return nil
	}
	name := cmp.Or(seen.Schematic, "unknown")
	if recorded.Schematic == "" || recorded.Schematic == seen.Schematic {
		name, _, _ = strings.Cut(path.Base(member.Image), ":") // an image from another place than an Image Factory has a name that is no schematic
	}
	runs := path.Join(path.Dir(member.Image), name+":"+seen.Talos)
	return []byHand{{urn: member.URN, have: map[string]any{state.PropertyUpdate: member.WithImage(runs)}}}
}

// changedByHand returns the paths at which a running configuration differs from the applied one. Its error contains no secret.
func changedByHand(node inventory.Node, given state.AppliedConfiguration, running []byte) (byHand, error) {
	differences, err := drift.Configurations(node.Name, given.Text, running)
	if err != nil {
		return byHand{}, err
	}
	found := byHand{urn: given.URN, running: running}
	for _, difference := range differences {
		found.paths = append(found.paths, strings.TrimSpace(strings.TrimPrefix(difference.Property, "configuration")))
	}
	if len(found.paths) == 1 && found.paths[0] == "" {
		found.paths[0] = "secrets"
	}
	return found, nil
}
