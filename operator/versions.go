package operator

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/versions"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// VersionReport contains the supported releases and, for a stack, what its inventory wants, what runs, and what comes next.
type VersionReport struct {
	// Supported are the minor releases of Talos, the newest first.
	Supported []SupportedTalos `json:"supported"`
	// Contracts are those that machine configurations can be generated with.
	Contracts versions.Range `json:"contracts"`
	// Cluster is the cluster of the stack; absent without one.
	Cluster *ClusterVersions `json:"cluster,omitempty"`
}

// SupportedTalos is a minor release of Talos.
type SupportedTalos struct {
	// Talos is the minor release.
	Talos versions.Minor `json:"talos"`
	// Latest is its newest known patch release; later ones are supported, too.
	Latest versions.Version `json:"latest"`
	// Kubernetes are the minor releases of Kubernetes that it supports.
	Kubernetes versions.Range `json:"kubernetes"`
	// DefaultKubernetes is the version that the newest known patch release was made with.
	DefaultKubernetes versions.Version `json:"defaultKubernetes"`
}

// ClusterVersions are the versions of one cluster.
type ClusterVersions struct {
	// Name of the cluster.
	Name string `json:"name"`
	// Wanted are the versions of the inventory.
	Wanted versions.State `json:"wanted"`
	// Runs is what the nodes that answer run, in the order of the inventory.
	Runs []NodeVersions `json:"runs"`
	// Refused is why up would not bring the wanted versions, a sentence each.
	Refused []string `json:"refused,omitempty"`
	// Next is the way from the wanted versions to the newest known ones: a key of the inventory and its value for each up.
	Next versions.Path `json:"next,omitempty"`
	// Changes are what of the next minor release of Talos concerns this cluster.
	Changes []versions.Change `json:"changes,omitempty"`
	// Unread is what could not be asked, a sentence each.
	Unread []string `json:"unread,omitempty"`
}

// NodeVersions is what one node runs.
type NodeVersions struct {
	// Node is its name.
	Node string `json:"node"`
	// Talos is its release.
	Talos string `json:"talos"`
	// Kubelet is the version of Kubernetes that it is configured for; empty if its image has no version.
	Kubelet string `json:"kubelet"`
	// APIServer is the version of its API server where that differs, as while Kubernetes is upgraded.
	APIServer string `json:"apiServer,omitempty"`
}

// SupportedVersions returns the releases that are supported, without a stack.
func SupportedVersions() (*VersionReport, error) {
	contracts, _, err := versions.Contracts()
	if err != nil {
		return nil, err
	}
	report := &VersionReport{Contracts: contracts}
	known := versions.Talos()
	for minor := known.First; minor.Compare(known.Last) <= 0; minor = minor.Next() {
		latest, _ := versions.Latest(minor)
		kubernetes, _ := versions.DefaultKubernetes(minor)
		report.Supported = append(report.Supported, SupportedTalos{
			Talos: minor, Latest: latest, Kubernetes: versions.Kubernetes(minor), DefaultKubernetes: kubernetes,
		})
	}
	slices.Reverse(report.Supported)
	return report, nil
}

// Versions returns the supported releases and the versions of the stack's cluster. It only reads. A cluster that does not answer, or
// was never brought up, is a sentence in the report.
func (o *Operator) Versions(ctx context.Context) (*VersionReport, error) {
	report, err := SupportedVersions()
	if err != nil {
		return nil, err
	}
	inv, err := o.Inventory()
	if err != nil {
		return nil, refused(err)
	}
	seen, unread := o.askRunning(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	cluster, err := clusterVersions(inv, seen)
	if err != nil {
		return nil, err
	}
	cluster.Unread = unread
	report.Cluster = cluster
	return report, nil
}

// askRunning asks the nodes of the stack's cluster what they run. What prevents that is a sentence.
func (o *Operator) askRunning(ctx context.Context) (running, []string) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return running{}, []string{err.Error()}
	}
	sources, err := s.sources().ofCluster(ctx)
	switch {
	case err != nil:
		return running{}, []string{err.Error()}
	case len(sources.Talosconfig) == 0:
		return running{}, []string{"the cluster was not brought up yet"}
	}
	return askVersions(ctx, sources)
}

// askVersions asks all nodes concurrently.
func askVersions(ctx context.Context, sources status.Sources) (seen running, unread []string) {
	nodes := sources.Inventory.Nodes
	answers, silent := make([]nodeops.Observation, len(nodes)), make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { answers[i], silent[i] = sources.Health().Observe(ctx, node.Address.String()) })
	}
	all.Wait()
	for i, node := range nodes {
		seen.Add(node.Name, answers[i])
		if silent[i] != nil {
			unread = append(unread, fmt.Sprintf("%s: %v", node.Name, silent[i]))
		}
	}
	return seen, unread
}

// clusterVersions compares what runs with the inventory.
func clusterVersions(inv *inventory.Inventory, seen running) (*ClusterVersions, error) {
	wanted := inv.Versions()
	cluster := &ClusterVersions{Name: inv.Cluster.Name, Wanted: wanted, Runs: append([]NodeVersions{}, seen.reported...)}
	for _, refusal := range slices.Concat(versions.JudgeTalos(seen.Nodes, wanted), versions.JudgeKubernetes(seen.Nodes, wanted)) {
		cluster.Refused = append(cluster.Refused, refusal.Error())
	}
	var err error
	if cluster.Next, err = versions.Way(wanted, newest(wanted)); err != nil {
		return nil, err
	}
	minor := wanted.Talos.Minor()
	cluster.Changes = versions.Changes(minor, minor.Next(), inv.Traits())
	return cluster, nil
}

// newest returns the newest known versions, or the wanted ones where they are newer still.
func newest(wanted versions.State) versions.State {
	newest := versions.Newest()
	if wanted.Talos.Compare(newest.Talos) > 0 {
		newest.Talos = wanted.Talos
	}
	if wanted.Kubernetes.Compare(newest.Kubernetes) > 0 {
		newest.Kubernetes = wanted.Kubernetes
	}
	return newest
}

// WriteText writes the report as text: a table of the releases, then a line for each fact about the cluster.
func (r *VersionReport) WriteText(out io.Writer) error {
	table := terminal.Table{Header: []string{"TALOS", "LATEST", "KUBERNETES", "DEFAULT"}}
	for _, one := range r.Supported {
		if r.Cluster != nil && one.Talos.Compare(r.Cluster.oldest()) < 0 {
			continue
		}
		table.Rows = append(table.Rows, []string{one.Talos.String(), one.Latest.String(), one.Kubernetes.String(), one.DefaultKubernetes.String()})
	}
	if err := table.Write(out); err != nil {
		return err
	}
	text := fmt.Sprintf("\nlater patch releases are supported, too; contracts %s\n", r.Contracts)
	if r.Cluster != nil {
		text += r.Cluster.text()
	}
	_, err := io.WriteString(out, text)
	return err
}

// oldest returns the oldest minor release of Talos that runs or is wanted.
func (c *ClusterVersions) oldest() versions.Minor {
	oldest := c.Wanted.Talos.Minor()
	for _, node := range c.Runs {
		if minor := parsed(node.Talos).Minor(); minor.Compare(oldest) < 0 {
			oldest = minor
		}
	}
	return oldest
}

func (c *ClusterVersions) text() string {
	var text strings.Builder
	line := func(name, format string, values ...any) {
		fmt.Fprintf(&text, " %-8s "+format+"\n", append([]any{name}, values...)...)
	}
	fmt.Fprintf(&text, "\n%s\n", c.Name)
	line("wanted", "Talos %s, Kubernetes %s", c.Wanted.Talos, c.Wanted.Kubernetes)
	for _, runs := range c.groups() {
		line("runs", "%s", runs)
	}
	for _, sentence := range c.Refused {
		line("refused", "%s", sentence)
	}
	switch {
	case len(c.Next) > 0:
		line("next", "%s, with an up after each", c.Next)
	default:
		line("next", "nothing newer is known")
	}
	for _, change := range c.Changes {
		line("at "+change.Since.String(), "%s", change.Says)
	}
	for _, sentence := range c.Unread {
		line("unread", "%s", sentence)
	}
	return text.String()
}

// groups returns what runs in words, a line for the nodes with the same versions.
func (c *ClusterVersions) groups() []string {
	var kinds []string
	names := map[string][]string{}
	for _, node := range c.Runs {
		kind := fmt.Sprintf("Talos %s, Kubernetes %s", node.Talos, node.Kubelet)
		if node.APIServer != "" {
			kind += fmt.Sprintf(" with API server %s", node.APIServer)
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], node.Node)
	}
	for i, kind := range kinds {
		kinds[i] = kind + " on " + strings.Join(names[kind], ", ")
	}
	return kinds
}
