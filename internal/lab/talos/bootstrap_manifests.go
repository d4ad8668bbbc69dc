package talos

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
)

// Manifest is a group of Kubernetes objects that Talos creates in the cluster.
type Manifest struct {
	// ID in the Talos API, for example 10-kube-proxy.
	ID string
	// Objects with their kinds.
	Objects []map[string]any
}

// publishManifests publishes the manifests of a control plane, which `talosctl upgrade-k8s` compares with the cluster, and
// withdraws those that the configuration no longer has (k8s/manifest.go).
func (s *system) publishManifests(cfg config.Provider) error {
	manifests, err := s.fleet.config.Kubernetes.Manifests(cfg)
	if err != nil {
		return fmt.Errorf("manifests of the machine configuration: %w", err)
	}

	var errs []error
	for _, m := range manifests {
		errs = append(errs, put(s, k8s.NewManifest(k8s.ControlPlaneNamespaceName, m.ID), func(r *k8s.Manifest) {
			r.TypedSpec().Items = nil
			for _, object := range m.Objects {
				r.TypedSpec().Items = append(r.TypedSpec().Items, k8s.SingleManifest{Object: object})
			}
		}))
	}

	published, err := safe.StateList[*k8s.Manifest](s.ctx, s.resources, resource.NewMetadata(k8s.ControlPlaneNamespaceName, k8s.ManifestType, "", resource.VersionUndefined))
	if err != nil {
		return errors.Join(append(errs, err)...)
	}

	for r := range published.All() {
		if !slices.ContainsFunc(manifests, func(m Manifest) bool { return m.ID == r.Metadata().ID() }) {
			errs = append(errs, withdraw(s, r))
		}
	}

	return errors.Join(errs...)
}
