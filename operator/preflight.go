package operator

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
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
	report, err := s.hostChecks(false).preflight(ctx)
	return report.At(s.place), err
}

// hostChecks are the checks of the hosts before a run.
type hostChecks struct {
	*Operator
	*ownResources

	inventory  *inventory.Inventory // of a platform; nil for a layer
	layer      layer                // nil for a platform
	interfaces []string             // of hosts, that may be changed although the API is reached by them
	host       pve.Connection
	place      remedy.Place
	factory    string // URL of the Image Factory
	nas        clusterNAS
	statePlace statePlace
	byHand     Checks // what they leave to a person at a host
}

// hostChecks returns the checks before a run. sparesNAS is whether the run touches nothing on TrueNAS.
func (s *session) hostChecks(sparesNAS bool) *hostChecks {
	return &hostChecks{
		Operator: s.Operator, ownResources: s.own, inventory: s.inventory, layer: s.layer, interfaces: s.interfaces, host: s.host, place: s.place,
		factory: s.factory, nas: s.nas(sparesNAS), statePlace: s.statePlace(s.workspace.Backend),
	}
}

// preflight checks the hosts, and the bucket with the state.
func (h *hostChecks) preflight(ctx context.Context) (preflight.Report, error) {
	if err := h.FindFormerNames(ctx); err != nil {
		return nil, err
	}
	probed := h.statePlace.beginCheck(ctx)
	host, err := h.ExamineHost(ctx)
	state, probeErr := probed()
	return append(state, host...), errors.Join(err, probeErr)
}

// ExamineHost implements [previewHost].
func (h *hostChecks) ExamineHost(ctx context.Context) (preflight.Report, error) {
	makers, err := h.makers()
	if err != nil {
		return nil, err
	}
	if h.layer != nil {
		exported, err := h.engine.state.Seen(ctx)
		if err != nil {
			return nil, err
		}
		return h.layer.examine(ctx, layerFacts{stack: h.engine.stack.Name(), host: h.host, interfaces: h.interfaces, deployment: exported.Deployment, makers: makers})
	}
	factory, err := factoryURL(h.factory)
	if err != nil {
		return nil, err
	}
	box, err := h.nas.box(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := h.namedServers()
	if err != nil {
		return nil, err
	}
	schematic, err := stacks.TemplateSchematic(h.inventory)
	if err != nil {
		return nil, err
	}
	return preflight.Run(ctx, preflight.Subject{
		Inventory: h.inventory, FormerNames: h.engine.program.FormerNames, Host: h.host, Factory: factory, Schematic: schematic, UnmadeImages: h.unmade,
		Owner: h.owner, Known: h.known, Makers: makers, Servers: servers, ServerAddresses: h.plainServers(), SparesServers: h.nas.isSpared, Box: box, KnownDatasets: h.datasets,
	})
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
func (h *hostChecks) CheckHost(ctx context.Context) error {
	started := h.clock.Now()
	report, err := h.preflight(ctx)
	if err != nil {
		return err
	}
	h.byHand = report.ByHand().At(h.place)
	h.emit(HostChecked{Checks: report.At(h.place), Took: h.clock.Now().Sub(started)})
	if refusal := hostRefusal(report); refusal != "" {
		return refused(errors.New(refusal))
	}
	return nil
}
