package operator

import (
	"context"
	"errors"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// layer is a stack that is no platform, as operations use it. Everything else about an operation is the same for all kinds of stacks.
type layer interface {
	Content

	// examine checks whether the hosts can bear what the inventory describes. It changes nothing.
	examine(ctx context.Context, facts layerFacts) (preflight.Report, error)
	// systems returns the systems of the inventory; none for hosts.
	systems() []status.System
	// resourceNames returns, for each system, what the names of its resources begin with; none for hosts.
	resourceNames() []string
	// findByHand compares what the engine's refresh does not read with the state.
	findByHand(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) outOfBand
	// picture returns the picture of the inventory with what a status says; an empty one says nothing.
	picture(found StatusReport) graph.Drawn
}

// layerFacts are what the checks of a layer know beside its inventory.
type layerFacts struct {
	host pve.Connection
	// interfaces may be changed although the API is reached by them.
	interfaces []string
	// stack is the name of the stack.
	stack string
	// deployment has what the stack has made.
	deployment apitype.DeploymentV3
	// makers are the stacks of hosts beside this one.
	makers preflight.Makers
}

// layerRun does in a run on a layer what [platformRun], [statePreparation] and [restorer] do in one on a platform.
type layerRun struct {
	layerComparison

	status stackStatus
	byHand *Checks // what the checks before the run left to a person at a host
}

func (s *session) layerRun(checks *hostChecks) layerRun {
	return layerRun{layerComparison: s.layerComparison(), status: s.status(), byHand: &checks.byHand}
}

var (
	_ upHost       = layerHost{}
	_ upState      = layerRun{}
	_ upCluster    = layerRun{}
	_ upRestore    = layerRun{}
	_ previewNodes = layerComparison{}
)

var errNoPhases = errors.New("this stack has neither phases nor nodes, so --until, --only, --only-node and --canary have no meaning for it: leave them out")

// checkWhole refuses options that are about the phases and the nodes of a cluster.
func (o UpOptions) checkWhole() error {
	if o.Until != 0 || o.Only != 0 || o.OnlyNode != "" || o.Canary != "" {
		return errNoPhases
	}
	return nil
}

// allowInterfaces lets this run change interfaces by which the API is reached.
func (s *session) allowInterfaces(names []string) {
	s.interfaces = names
	s.engine.stack.Workspace().SetEnvVar(pve.AllowInterfacesVariable, strings.Join(names, ","))
}

// layerHost are the checks of the hosts before a run on a layer.
type layerHost struct{ *hostChecks }

// LostISOs implements [upHost]: a layer has no templates.
func (layerHost) LostISOs(context.Context) ([]string, error) { return nil, nil }

// PrepareState implements [upState].
func (l layerRun) PrepareState(ctx context.Context, seen outOfBand, _ judgement) error {
	return seen.note(ctx, l.engine.state)
}

// CheckEtcd implements [upCluster].
func (layerRun) CheckEtcd(context.Context) error { return nil }

// NextToReplace implements [upCluster]. No assessment of a layer has control planes that are replaced alone.
func (layerRun) NextToReplace(context.Context, []string) (string, error) {
	return "", errors.New("a layer has no control planes")
}

// PrepareNodes implements [upCluster]: hosts and systems are no nodes.
func (layerRun) PrepareNodes(context.Context, judgement) error { return nil }

// AwaitKubernetes implements [upCluster].
func (layerRun) AwaitKubernetes(context.Context) error { return nil }

// SalvageCredentials implements [upCluster].
func (layerRun) SalvageCredentials(context.Context) error { return nil }

// Conclude implements [upCluster].
func (l layerRun) Conclude(ctx context.Context) (*UpResult, error) {
	if err := l.settleSnapshots(ctx); err != nil {
		return nil, err
	}
	report, err := l.status.ofLayer(ctx)
	if err != nil {
		return nil, err
	}
	return &UpResult{Last: phase.Verify, Kind: l.layer.Kind(), Report: report.StatusReport, ByHand: *l.byHand}, nil
}

// PrepareRestore implements [upRestore].
func (layerRun) PrepareRestore(context.Context, span.Span) error { return nil }

// BeginRestore implements [upRestore].
func (layerRun) BeginRestore(context.Context) (bool, error) { return false, nil }

// FinishRestore implements [upRestore].
func (layerRun) FinishRestore(context.Context) error { return nil }

// ofLayer returns the status of a layer: its state, whether its hosts answer, and whether its systems run.
func (s stackStatus) ofLayer(ctx context.Context) (*Status, error) {
	sources, err := s.sources.ofState(ctx)
	if err != nil {
		return nil, err
	}
	sources.Copies = status.Copies{State: s.copies.ofState(ctx)}
	report := sources.OfState(s.sources.clock.Now()).AskForHosts(ctx, sources.Host, s.layer.Hosts()).AskForSystems(ctx, sources.Host, s.layer.systems())
	return &Status{StatusReport: report.At(s.copies.cluster.place)}, nil
}
