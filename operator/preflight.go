package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/truenas"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/stacks"
)

// Preflight checks whether the host can run what the inventory describes. It reports all findings and changes nothing on the host. In a
// bucket with the state, it stores a small object and deletes it.
func (o *Operator) Preflight(ctx context.Context) (Checks, error) {
	s, err := o.begin(ctx, needs{newStack: true, hostMayBeAway: true, anyKind: true})
	if err != nil {
		return nil, err
	}
	report, err := s.preflight(ctx)
	return report.At(s.place), err
}

// preflight checks the session's host, and the bucket with the state.
func (s *session) preflight(ctx context.Context) (preflight.Report, error) {
	if err := s.FindFormerNames(ctx); err != nil {
		return nil, err
	}
	probed := s.statePlace(s.workspace.Backend).beginCheck(ctx)
	host, err := s.ExamineHost(ctx)
	state, probeErr := probed()
	return append(state, host...), errors.Join(err, probeErr)
}

// ExamineHost implements [previewHost].
func (s *session) ExamineHost(ctx context.Context) (preflight.Report, error) {
	makers, err := s.makers()
	if err != nil {
		return nil, err
	}
	if s.layer != nil {
		exported, err := s.state.Seen(ctx)
		if err != nil {
			return nil, err
		}
		return s.layer.examine(ctx, layerFacts{stack: s.engine.stack.Name(), host: s.host, interfaces: s.interfaces, deployment: exported.Deployment, makers: makers})
	}
	factory, err := factoryURL(s.factory)
	if err != nil {
		return nil, err
	}
	box, err := s.box(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := s.namedServers()
	if err != nil {
		return nil, err
	}
	schematic, err := stacks.TemplateSchematic(s.inventory)
	if err != nil {
		return nil, err
	}
	return preflight.Run(ctx, preflight.Subject{
		Inventory: s.inventory, FormerNames: s.engine.program.FormerNames, Host: s.host, Factory: factory, Schematic: schematic, UnmadeImages: s.unmade,
		Owner: s.owner, Known: s.known, Makers: makers, Servers: servers, ServerAddresses: s.plainServers(), SparesServers: s.sparesNAS, Box: box, KnownDatasets: s.datasets,
	})
}

// box returns the TrueNAS box of the inventory, in a rehearsal that of the lab; nil without `storage:`. A key that is missing is a finding
// of the preflight and no error.
func (s *session) box(ctx context.Context) (*preflight.Box, error) {
	if s.inventory.Cluster.Storage == nil {
		return nil, nil
	}
	config, err := s.engine.config(ctx)
	if err != nil {
		return nil, err
	}
	configured := func(name string) string { return config[stacks.Key(name)].Value }
	access, err := stacks.ReadStorageAccess(ctx, s.inventory, s.workspace.Stack, configured, secrets.Read)
	return &preflight.Box{
		Owner: stacks.StorageOwner(s.workspace.Stack, s.inventory), IsSpared: s.sparesNAS, Kinds: s.onNAS, Err: err,
		Connection: truenas.Connection{
			Endpoint: access.Endpoint, Fingerprint: access.Fingerprint, CA: access.CA, Username: access.Username, APIKey: access.APIKey,
		},
	}, nil
}

// factoryURL parses the URL of the Image Factory in the configuration.
func factoryURL(text string) (*url.URL, error) {
	factory, err := url.Parse(text)
	if err != nil {
		return nil, refused(fmt.Errorf("the Image Factory's URL %q is none: set em-infra:imageFactoryUrl", text))
	}
	return factory, nil
}

// CheckHost runs the preflight before anything is changed. It emits the checks and refuses if any failed. Warnings are left to the
// consent that follows or was given beforehand.
func (s *session) CheckHost(ctx context.Context) error {
	started := s.clock.Now()
	report, err := s.preflight(ctx)
	if err != nil {
		return err
	}
	s.byHand = report.ByHand().At(s.place)
	s.emit(HostChecked{Checks: report.At(s.place), Took: s.clock.Now().Sub(started)})
	if refusal := hostRefusal(report); refusal != "" {
		return refused(errors.New(refusal))
	}
	return nil
}
