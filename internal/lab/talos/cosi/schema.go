// Package cosi provides the resource state of an emulated Talos system. It has the same namespaces and resource types as
// Talos, so that an unmodified client resolves all its names and aliases.
package cosi

import (
	"context"
	"fmt"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/cosi-project/runtime/pkg/state/impl/inmem"
	"github.com/cosi-project/runtime/pkg/state/impl/namespaced"
	"github.com/cosi-project/runtime/pkg/state/registry"
)

// Schema is the registry of namespaces and resource definitions. It is immutable, so that all systems of a lab share one: a
// copy for each would hold the definitions of about 150 types.
type Schema struct {
	meta state.CoreState
}

// NewSchema registers the namespaces and the resource types of Talos.
func NewSchema(ctx context.Context) (*Schema, error) {
	schema := &Schema{meta: inmem.NewState(meta.NamespaceName)}
	st := schema.NewState()

	if err := registerNamespaces(ctx, registry.NewNamespaceRegistry(st)); err != nil {
		return nil, err
	}

	return schema, registerTypes(ctx, registry.NewResourceRegistry(st))
}

// NewState returns the empty resource state of one system.
func (s *Schema) NewState() state.State {
	return state.WrapCore(namespaced.NewState(func(ns resource.Namespace) state.CoreState {
		if ns == meta.NamespaceName {
			return s.meta
		}

		// The limits of the event history are those of Talos (v1alpha2_state.go). They determine what a watcher may miss.
		return inmem.NewStateWithOptions(
			inmem.WithHistoryInitialCapacity(8),
			inmem.WithHistoryMaxCapacity(1024),
			inmem.WithHistoryGap(4),
		)(ns)
	}))
}

func registerNamespaces(ctx context.Context, namespaces *registry.NamespaceRegistry) error {
	if err := namespaces.RegisterDefault(ctx); err != nil {
		return fmt.Errorf("register the default namespaces: %w", err)
	}

	for _, ns := range talosNamespaces {
		if err := namespaces.Register(ctx, ns.name, ns.description); err != nil {
			return fmt.Errorf("register namespace %s: %w", ns.name, err)
		}
	}

	return nil
}

func registerTypes(ctx context.Context, types *registry.ResourceRegistry) error {
	if err := types.RegisterDefault(ctx); err != nil {
		return fmt.Errorf("register the default resource types: %w", err)
	}

	for _, r := range talosTypes {
		if err := types.Register(ctx, r); err != nil {
			return fmt.Errorf("register %s: %w", r.ResourceDefinition().Type, err)
		}
	}

	return nil
}
