package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/versions"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// DriftReport contains the differences between the inventory and what runs.
type DriftReport struct{ drift.Report }

// Err returns [ErrNotWell] if something could not be read, [ErrChanges] if something differs, and nil otherwise.
func (r *DriftReport) Err() error {
	switch {
	case len(r.Unread) > 0:
		return ErrNotWell
	case r.Found():
		return ErrChanges
	default:
		return nil
	}
}

// Drift compares the host and the nodes with the inventory. It only reads. A change of the inventory that was not applied yet is a
// difference, too.
func (o *Operator) Drift(ctx context.Context) (*DriftReport, error) {
	s, err := o.begin(ctx, needs{anyKind: true, hostMayBeAway: true, refresh: true})
	if err != nil {
		return nil, err
	}
	report, err := s.drift(ctx)
	return &DriftReport{Report: report}, err
}

// drift compares a stack of any kind.
func (s *session) drift(ctx context.Context) (drift.Report, error) {
	if s.layer != nil {
		return s.layerComparison().drift(ctx)
	}
	return s.comparison().drift(ctx)
}

// comparison compares what runs of a cluster with its inventory and its state.
type comparison struct {
	engine    *stackEngine
	own       *ownResources
	inventory *inventory.Inventory
	sources   stackSources
	nas       clusterNAS
	host      pve.Connection
	place     remedy.Place
}

func (s *session) comparison() comparison {
	return comparison{engine: s.engine, own: s.own, inventory: s.inventory, sources: s.sources(), nas: s.nas(false), host: s.host, place: s.place}
}

// drift compares the host by a preview with refresh, and each node by the Talos API.
func (c comparison) drift(ctx context.Context) (drift.Report, error) {
	sources, err := c.sources.ofCluster(ctx)
	if err != nil {
		return drift.Report{}, err
	}
	return driftRun{
		Place: c.place, Reach: reachOf(c.host),
		Host:  func(ctx context.Context, report *drift.Report) error { return c.hostDrift(ctx, sources, report) },
		Nodes: func(ctx context.Context, report *drift.Report) error { return c.nodesDrift(ctx, sources, report) },
	}.Run(ctx)
}

// reachOf returns a function that returns why a host does not answer.
func reachOf(host pve.Connection) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := host.Reach(ctx)
		return err
	}
}

// nodesDrift adds what differs on the nodes, and what up would do about their releases.
func (c comparison) nodesDrift(ctx context.Context, sources status.Sources, report *drift.Report) error {
	applied, err := state.AppliedConfigurations(sources.Deployment)
	if err != nil {
		return err
	}
	var seen running
	for _, node := range c.inventory.Nodes {
		configured, isApplied := applied[node.Address.String()]
		if !isApplied {
			continue // its machine does not exist yet, which the comparison of the host reports
		}
		want := drift.Wanted{
			Name: node.Name, Talos: c.inventory.Cluster.Talos.Version.String(), Schematic: sources.Images[node.Name].Schematic, Configuration: configured.Text,
		}
		found, differences, err := nodeDrift(ctx, sources, want, node.Address.String())
		if err != nil {
			report.Unread = append(report.Unread, err.Error())
		}
		seen.Add(node.Name, found)
		report.Nodes = append(report.Nodes, differences...)
	}
	for _, sentence := range upgrades(seen, c.inventory.Versions(), sources.Images) {
		report.Upgrades = append(report.Upgrades, c.place.Complete(sentence))
	}
	return nil
}

// upgrades returns what up would do about nodes that run other versions or schematics than the inventory's, a sentence each.
func upgrades(seen running, wanted versions.State, images map[string]status.Image) []string {
	var sentences []string
	refused := map[string]bool{}
	for _, refusal := range slices.Concat(versions.JudgeTalos(seen.Nodes, wanted), versions.JudgeKubernetes(seen.Nodes, wanted)) {
		sentences = append(sentences, "up refuses it: "+refusal.Error())
		refused[refusal.Key] = true
	}
	for _, node := range seen.Nodes {
		runs, isNode := seen.Images[node.Name]
		switch {
		case isNode && !refused[versions.KeyTalos] && node.Talos.Compare(wanted.Talos) != 0:
			sentences = append(sentences, fmt.Sprintf("`em-infra up` upgrades %s from Talos %s to %s", node.Name, node.Talos, wanted.Talos))
		case isNode && !refused[versions.KeyTalos] && !runsImage(runs, images[node.Name]):
			sentences = append(sentences, fmt.Sprintf("`em-infra up` upgrades %s to the image of the inventory", node.Name))
		}
		if !node.Kubernetes.IsZero() && !refused[versions.KeyKubernetes] && node.Kubernetes.Compare(wanted.Kubernetes) != 0 {
			sentences = append(sentences, fmt.Sprintf("`em-infra up` brings %s from Kubernetes %s to %s", node.Name, node.Kubernetes, wanted.Kubernetes))
		}
	}
	return sentences
}

// runsImage reports whether a node that runs the wanted version has the wanted image, too, as far as the name of the wanted image shows that.
func runsImage(runs risk.Image, wanted status.Image) bool {
	have := nodeops.Release{Version: runs.Talos.String(), Schematic: runs.Schematic}
	return have.Satisfies(nodeops.Release{Version: have.Version, Schematic: wanted.Schematic})
}

// hostDrift adds what the engine would change after a refresh, and what the engine's refresh does not read.
func (c comparison) hostDrift(ctx context.Context, sources status.Sources, report *drift.Report) error {
	if err := c.own.FindFormerNames(ctx); err != nil {
		return err
	}
	var seen outOfBand
	seen.askHost(ctx, c.host, sources.Deployment, c.inventory.Cluster.Proxmox.Pool)
	if slices.ContainsFunc(sources.Deployment.Resources, isInCluster) {
		seen.NoAnswer = whyNoAnswer(ctx, sources.Kubeconfig)
	}
	noNAS, err := c.nas.whyAway(ctx)
	if err != nil {
		return err
	}
	if noNAS != "" {
		seen.Unread = append(seen.Unread, noNAS)
	}
	_, events, err := c.engine.preview(ctx, seen.excluded()...)
	if err != nil {
		return err
	}
	steps := plan.Steps(events)
	seen.mark(steps)
	report.Host = append(report.Host, drift.Resources(steps)...)
	report.Unread = append(report.Unread, seen.unasked()...)
	lost, err := status.LostISOs(ctx, sources.Host, sources.Deployment)
	for _, template := range lost {
		report.Host = append(report.Host, drift.Difference{Subject: template.ISO, Property: "existence", Want: "there", Have: "absent"})
	}
	return err
}

// nodeDrift compares one node, and returns what it answers. A node of another cluster is drift; a node that does not answer is an error.
func nodeDrift(ctx context.Context, sources status.Sources, want drift.Wanted, address string) (nodeops.Observation, []drift.Difference, error) {
	seen, err := sources.Health().Observe(ctx, address)
	switch {
	case errors.Is(err, nodeops.ErrForeign):
		return nodeops.Observation{}, []drift.Difference{{Subject: want.Name, Property: "cluster", Want: "this one", Have: "a node of another, or one without a configuration"}}, nil
	case err != nil:
		return nodeops.Observation{}, nil, fmt.Errorf("%s: %w", want.Name, err)
	}
	differences, err := drift.Node(want, seen)
	return seen, differences, err
}
