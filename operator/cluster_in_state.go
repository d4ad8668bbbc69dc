package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/kitcheck"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
	"github.com/em-infra/em-infra/stacks"
)

// clusterInState is what the state of a stack has of its cluster, regardless of what the inventory says now.
type clusterInState struct {
	state     *stackstate.State
	inventory *inventory.Inventory // whose control planes may be endpoints, too; nil for a layer
	place     remedy.Place
}

func (s *session) inState() clusterInState {
	return clusterInState{state: s.state, inventory: s.inventory, place: s.place}
}

// outputs returns the outputs of a stack that was brought up completely.
func (c clusterInState) outputs(ctx context.Context) (stacks.Outputs, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return stacks.Outputs{}, err
	}
	values, err := engine.Outputs(exported.Deployment)
	if err != nil {
		return stacks.Outputs{}, err
	}
	return stacks.ParseOutputs(values)
}

// administrator returns a talosconfig from the machine secrets in the state, whose endpoints are the control planes of the state and of
// the inventory. The outputs of a stack are missing while a run has not ended. It is nil if there are no secrets yet.
func (c clusterInState) administrator(ctx context.Context) ([]byte, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	secrets := state.MachineSecrets(exported.Deployment)
	if secrets == nil {
		return nil, nil
	}
	credentials, err := recovery.CredentialsOf(secrets)
	if err != nil {
		return nil, err
	}
	endpoints := state.ControlPlaneAddresses(exported.Deployment)
	for _, node := range c.inventory.Nodes.ControlPlanes() {
		endpoints = append(endpoints, node.Address.String())
	}
	slices.Sort(endpoints)
	return nodeops.Credentials(credentials).Talosconfig(slices.Compact(endpoints)...)
}

// credentials returns the kubeconfig and the talosconfig of the cluster, which its component has before the stack has outputs; empty without one.
func (c clusterInState) credentials(ctx context.Context) (kubeconfig, talosconfig string, err error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return "", "", err
	}
	return state.ClusterCredentials(exported.Deployment)
}

// machineSecrets returns the machine secrets in the state.
func (c clusterInState) machineSecrets(ctx context.Context) (machinesecrets.Bundle, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return machinesecrets.Bundle{}, err
	}
	properties, err := state.MachineSecretsText(exported.Deployment)
	switch {
	case err != nil:
		return machinesecrets.Bundle{}, err
	case properties == nil:
		return machinesecrets.Bundle{}, refused(c.place.CompleteError(errors.New("the stack has no machine secrets yet: bring the cluster up first with `em-infra up`")))
	}
	return machinesecrets.FromState(properties)
}

// fingerprint returns the fingerprint of the machine secrets in the stack's state; empty if it has none.
func (c clusterInState) fingerprint(ctx context.Context) (string, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return "", err
	}
	return kitcheck.Fingerprint(exported)
}

// nodes returns the nodes of the state, control planes first: a rotation reaches those that exist, regardless of what the inventory says.
func (c clusterInState) nodes(ctx context.Context) ([]rolling.Node, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	controlPlanes := state.ControlPlaneAddresses(exported.Deployment)
	var first, then []rolling.Node
	for _, machine := range state.ConfiguredMachines(exported.Deployment) {
		address, err := netip.ParseAddr(machine.Address)
		if err != nil || !machine.Joined {
			return nil, fmt.Errorf("%s has not joined the cluster yet: run `em-infra up` first", machine.Name)
		}
		node := rolling.Node{Name: machine.Name, Address: address, ControlPlane: slices.Contains(controlPlanes, machine.Address)}
		if node.ControlPlane {
			first = append(first, node)
		} else {
			then = append(then, node)
		}
	}
	return append(first, then...), nil
}

// secrets returns all secrets of the state in plain text.
func (c clusterInState) secrets(ctx context.Context) ([]string, error) {
	exported, err := c.state.Seen(ctx)
	if err != nil {
		return nil, err
	}
	return state.SecretTexts(exported.Deployment)
}

// contains reports whether a secret of the state contains a text.
func (c clusterInState) contains(ctx context.Context, text string) (bool, error) {
	secrets, err := c.secrets(ctx)
	return slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(secret, text) }), err
}

// isEmpty reports whether the stack has no state, or one without a resource. A run that is killed after it has created the state leaves
// such a state.
func (c clusterInState) isEmpty(ctx context.Context) (bool, error) {
	text, err := c.state.ExportSealed(ctx)
	if errors.Is(err, engine.ErrNoStack) {
		return true, nil
	}
	if err == nil {
		var exported *engine.Exported
		if exported, err = c.state.Read(text); err == nil {
			return len(exported.Deployment.Resources) == 0, nil
		}
	}
	return false, c.state.Unreadable(err)
}
