package versions

import (
	"fmt"
	"slices"
	"strings"
)

// State is what a node or a cluster runs, or is to run.
type State struct {
	// Talos is the release of the operating system.
	Talos Version `json:"talos"`
	// Kubernetes is the version of the kubelets and of the control plane.
	Kubernetes Version `json:"kubernetes"`
}

// Node is what a node runs. A version that is not known is zero, and is not judged.
type Node struct {
	Name string
	State
}

// Refusal is why versions cannot be changed from what runs to what is wanted.
type Refusal struct {
	// Key of the inventory that is refused: talos.version or kubernetes.version.
	Key string
	// What is wrong, as a sentence without a full stop.
	What string
	// Do is what to do instead.
	Do string
	// Skips reports whether the installer would take the step although the project's documentation advises against it, so that the
	// user may allow it.
	Skips bool
}

// Error returns both as one sentence.
func (r Refusal) Error() string { return r.What + ": " + r.Do }

// JudgeTalos returns what forbids the step from the Talos that the nodes run to the wanted one, one refusal for each version that
// runs. Several versions run when an upgrade stopped halfway, and it may go on.
func JudgeTalos(nodes []Node, wanted State) []Refusal {
	var refused []Refusal
	for _, group := range groups(nodes, func(n Node) Version { return n.Talos }) {
		if r := talosStep(group, wanted); r != nil {
			refused = append(refused, *r)
		}
	}
	return refused
}

// JudgeKubernetes returns what forbids the step from the Kubernetes that the nodes run to the wanted one. Kubernetes is changed
// before Talos, so it must be one that the Talos of each node supports now.
func JudgeKubernetes(nodes []Node, wanted State) []Refusal {
	var refused []Refusal
	for _, group := range groups(nodes, func(n Node) Version { return n.Kubernetes }) {
		if r := kubernetesStep(group, wanted); r != nil {
			refused = append(refused, *r)
		}
	}
	if len(refused) > 0 {
		return refused
	}
	return together(nodes, wanted)
}

// group are the nodes that run one version of something.
type group struct {
	version Version
	nodes   []Node
}

// groups returns the nodes by version, the oldest first, without those whose version is not known.
func groups(nodes []Node, of func(Node) Version) []group {
	var found []group
	for _, node := range nodes {
		version := of(node)
		if version.IsZero() {
			continue
		}
		at := slices.IndexFunc(found, func(g group) bool { return g.version.Compare(version) == 0 })
		if at < 0 {
			found, at = append(found, group{version: version}), len(found)
		}
		found[at].nodes = append(found[at].nodes, node)
	}
	slices.SortStableFunc(found, func(a, b group) int { return a.version.Compare(b.version) })
	return found
}

// names returns the nodes of a group in words.
func (g group) names() string {
	var names []string
	for _, node := range g.nodes {
		names = append(names, node.Name)
	}
	verb := " run "
	if len(names) == 1 {
		verb = " runs "
	}
	return strings.Join(names, ", ") + verb + g.version.String()
}

// state returns the oldest versions that the group runs, from which the way begins.
func (g group) state() State {
	var oldest State
	for _, node := range g.nodes {
		oldest.Talos, oldest.Kubernetes = older(oldest.Talos, node.Talos), older(oldest.Kubernetes, node.Kubernetes)
	}
	return oldest
}

// older returns the older of two versions, of which one may not be known.
func older(one, other Version) Version {
	if one.IsZero() || !other.IsZero() && other.Compare(one) < 0 {
		return other
	}
	return one
}

// talosStep judges one upgrade of Talos. Talos is tested between adjacent minor releases only, and recommends the latest patch
// release of each on the way (siderolabs/docs, upgrading-talos, "Supported upgrade paths").
func talosStep(g group, wanted State) *Refusal {
	from, to := g.version, wanted.Talos
	step := fmt.Sprintf("Talos %s → %s", from, to)
	latest, known := Latest(from.Minor())
	switch {
	case to.IsZero() || from.Compare(to) == 0:
		return nil
	case to.Compare(from) < 0:
		return &Refusal{Key: KeyTalos, What: fmt.Sprintf("%s is a downgrade (%s)", step, g.names()), Do: insteadOfDowngrade(from, to)}
	case to.Minor() == from.Minor():
		return nil
	case to.Minor() != from.Minor().Next():
		return &Refusal{
			Key: KeyTalos, What: fmt.Sprintf("%s skips %s (%s)", step, between(from.Minor(), to.Minor()), g.names()),
			Do: instead(g.state(), wanted), Skips: installs(from, to),
		}
	case known && from.Compare(latest) < 0:
		return &Refusal{
			Key: KeyTalos, What: fmt.Sprintf("%s leaves out %s, the latest of %s (%s)", step, latest, from.Minor(), g.names()),
			Do: instead(g.state(), wanted), Skips: installs(from, to),
		}
	}
	return nil
}

// insteadOfDowngrade returns what to do instead of a downgrade of Talos. A rollback of a node helps only if its last upgrade came from the wanted
// release, and the nodes do not report what is in the other slots of their disks.
func insteadOfDowngrade(from, to Version) string {
	do := fmt.Sprintf("set talos.version to %s or later", from)
	if installs(to, from) {
		do += fmt.Sprintf(", or go back with `em-infra node rollback` where the last upgrade came from %s", to)
	}
	return do
}

// kubernetesStep judges one upgrade of Kubernetes, whose components may differ by one minor release while it goes on
// (kubernetes.io, version skew policy).
func kubernetesStep(g group, wanted State) *Refusal {
	from, to := g.version, wanted.Kubernetes
	step := fmt.Sprintf("Kubernetes %s → %s", from, to)
	switch {
	case to.IsZero():
		return nil
	case to.Compare(from) < 0:
		return &Refusal{
			Key: KeyKubernetes, What: fmt.Sprintf("%s is a downgrade (%s)", step, g.names()), Do: fmt.Sprintf("set kubernetes.version to %s or later", from),
		}
	case to.Minor().Compare(from.Minor().Next()) > 0:
		return &Refusal{
			Key: KeyKubernetes, What: fmt.Sprintf("%s skips %s (%s)", step, between(from.Minor(), to.Minor()), g.names()), Do: instead(g.state(), wanted),
		}
	}
	return nil
}

// together judges a Kubernetes that is to run on the Talos that runs now.
func together(nodes []Node, wanted State) []Refusal {
	changes := slices.ContainsFunc(nodes, func(n Node) bool {
		return !n.Kubernetes.IsZero() && n.Kubernetes.Compare(wanted.Kubernetes) != 0
	})
	if !changes || wanted.Kubernetes.IsZero() {
		return nil
	}
	for _, g := range groups(nodes, func(n Node) Version { return n.Talos }) {
		fits := Kubernetes(g.version.Minor())
		if fits == (Range{}) || fits.Holds(wanted.Kubernetes.Minor()) {
			continue
		}
		return []Refusal{{
			Key: KeyKubernetes,
			What: fmt.Sprintf("Kubernetes %s is %s for the Talos that runs (%s, which supports %s), and Kubernetes changes first",
				wanted.Kubernetes, fits.Side(wanted.Kubernetes.Minor()), g.names(), fits),
			Do: instead(g.state(), wanted),
		}}
	}
	return nil
}

// between returns the minor releases between two in words.
func between(from, to Minor) string {
	var skipped []string
	for m := from.Next(); m.Compare(to) < 0; m = m.Next() {
		skipped = append(skipped, m.String())
	}
	return strings.Join(skipped, ", ")
}

// instead returns the way as an instruction.
func instead(from, to State) string {
	if from.Kubernetes.IsZero() {
		from.Kubernetes = to.Kubernetes
	}
	if from.Talos.IsZero() {
		from.Talos = to.Talos
	}
	way, err := Way(from, to)
	if err != nil {
		return err.Error()
	}
	return "go " + way.String() + ", with an up after each"
}
