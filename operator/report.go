package operator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/graph"
	"github.com/em-infra/em-infra/operator/internal/page"
)

// ReportOptions are the options of [Operator.Report].
type ReportOptions struct {
	// Run is the name of the folder of a run's artifacts. The report is then about that run alone, made from its artifacts only: neither the host nor
	// the nodes are asked. Default: none, the report is about the stack and all its runs.
	Run string
}

// Report returns what is known about the stack as one HTML file: picture, status, what differs, credentials, copies, and the runs as timelines. It
// only reads.
func (o *Operator) Report(ctx context.Context, options ReportOptions) ([]byte, error) {
	written := page.Page{Stack: o.workspace.Stack, Rehearsed: o.workspace.Rehearsed, Written: o.clock.Now()}
	if options.Run != "" {
		return o.reportRun(written, options.Run)
	}
	s, err := o.begin(ctx, needs{anyKind: true, hostMayBeAway: true, refresh: true})
	if err != nil {
		return nil, err
	}
	secrets, err := s.describe(ctx, &written)
	if err != nil {
		return nil, err
	}
	return written.HTML(secrets)
}

// reportRun returns the report of one run, with the inventory that it had.
func (o *Operator) reportRun(written page.Page, name string) ([]byte, error) {
	run, err := o.artifacts().Run(name)
	if errors.Is(err, artifacts.ErrNoRun) {
		return nil, refused(fmt.Errorf("%w: choose one of the folders in %s", err, workspace.Nearby(o.workspace.Artifacts)))
	}
	if err != nil {
		return nil, err
	}
	written.Runs = []artifacts.Past{run}
	dir := filepath.Join(o.workspace.Artifacts, name, artifacts.DirInventory)
	if kind, err := manifest.KindOf(dir); err == nil { // it depends on the names of files only, so the kind is known for any release
		written.Kind = kind
	}
	content, err := loadWritten(dir)
	if err == nil { // an inventory of another release may have other keys: then the run is shown without it
		describeContent(&written, content)
		written.Picture = graph.SVG(unasked(content))
	}
	return written.HTML(nil) // the artifacts contain none
}

// describe fills in a page, and returns the secrets that must not be on it.
func (s *session) describe(ctx context.Context, written *page.Page) ([]string, error) {
	found, err := s.status().read(ctx)
	if err != nil {
		return nil, err
	}
	differs, err := s.drift(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		differs.Unread = append(differs.Unread, s.place.Complete(inOneLine(err))) // the rest of the page is written anyway
	}
	secrets, err := s.inState().secrets(ctx)
	if err != nil {
		return nil, err
	}
	written.Status, written.Drift = &found.StatusReport, &differs
	describeContent(written, s.engine.content)
	written.Picture = graph.SVG(pictureWith(s.engine.content, found.StatusReport))
	if written.Copies, err = s.keptCopies().newest(ctx); err != nil {
		return nil, err
	}
	written.Runs, err = s.artifacts().Runs()
	return append(secrets, s.engine.secrets...), err
}

// describeContent writes the kind, the cluster and the nodes of an inventory on a page.
func describeContent(written *page.Page, content Content) {
	written.Kind = content.Kind()
	switch content := content.(type) {
	case *inventory.Inventory:
		written.Cluster, written.Nodes = content.Cluster.Name, resourceNames(content)
	case layer:
		written.Nodes = content.resourceNames()
	}
}

// pictureWith returns the picture of an inventory of any kind with what the status of its stack says.
func pictureWith(content Content, found StatusReport) graph.Drawn {
	if inv, isPlatform := content.(*inventory.Inventory); isPlatform {
		return pictured(inv, healthsIn(inv.Nodes, found))
	}
	return content.(layer).picture(found)
}

// healthsIn returns for each node whether it answered as a node of the cluster; unknown if the report does not have it. A node in maintenance mode
// belongs to no cluster.
func healthsIn(nodes inventory.Nodes, report StatusReport) []graph.Health {
	healths := make([]graph.Health, len(nodes))
	for i := range min(len(nodes), len(report.Machines)) { // a report has the machines in the order of the inventory, or none
		machine := report.Machines[i]
		switch {
		case machine.Node == nil:
		case machine.Node.Stage == "" || machine.Node.Stage == runtime.MachineStageMaintenance.String():
			healths[i] = graph.Unhealthy
		default:
			healths[i] = graph.Healthy
		}
	}
	return healths
}

// loadWritten returns the inventory that em-infra itself wrote into a folder, of any kind.
func loadWritten(dir string) (Content, error) {
	kind, err := manifest.KindOf(dir)
	if err != nil {
		return nil, err
	}
	if kind != manifest.Platform {
		return LoadContent(dir)
	}
	inv, err := inventory.LoadWritten(dir)
	if err != nil {
		return nil, err
	}
	return inv, nil
}

// resourceNames returns for each node the name with which the names of its resources begin.
func resourceNames(inv *inventory.Inventory) []string {
	var names []string
	for _, node := range inv.Nodes {
		names = append(names, components.NodeName(inv.Cluster.Name, node.Name))
	}
	return names
}

func (o *Operator) artifacts() artifacts.Folder {
	return artifacts.Folder{Dir: o.workspace.Artifacts, Keep: o.options.Keep}
}
