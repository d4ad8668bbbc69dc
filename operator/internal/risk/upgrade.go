package risk

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/versions"
)

// upgradeMinutes is how long the upgrade of a node takes on a small server: its image is pulled, the node drained, rebooted, and
// watched until it is healthy.
const upgradeMinutes = 3

// upgrade is the change of a node's image.
type upgrade struct{ from, to Image }

// upgradesNode matches a membership whose update upgrades its node to another image.
func upgradesNode(s plan.Step, t topology) bool {
	return t.memberOf(s) != nil && s.URN.Type() == token.Command && s.Op == apitype.OpUpdate &&
		state.UpgradeImage(updateOf(s.New)) != "" && state.UpgradeImage(updateOf(s.Old)) != state.UpgradeImage(updateOf(s.New))
}

// upgradesKubernetes matches the Command of a cluster's version of Kubernetes when that is another one.
func upgradesKubernetes(s plan.Step, _ topology) bool {
	to, found := kubernetesOf(updateOf(s.New))
	from, _ := kubernetesOf(updateOf(s.Old))
	return found && s.URN.Type() == token.Command && s.Op == apitype.OpUpdate && from.Compare(to) != 0
}

// updateOf returns the text that a Command runs when it is updated.
func updateOf(inputs map[string]any) string { return propertymap.Text(inputs, state.PropertyUpdate) }

// kubernetesOf returns the version in the update of a Command; false for another text.
func kubernetesOf(text string) (versions.Version, bool) {
	version, err := versions.Parse(state.KubernetesOf(text))
	return version, err == nil
}

func nodeUpgraded(s plan.Step, t topology) *Finding {
	n := t.memberOf(s)
	from, to := parseImage(state.UpgradeImage(updateOf(s.Old))), parseImage(state.UpgradeImage(updateOf(s.New)))
	if n.runs.isKnown() {
		from = n.runs
	}
	if from.satisfies(to) {
		return nil // the command compares, too, and calls nothing
	}
	what := fmt.Sprintf("%s (drain, reboot, about %d min)", from.change(to), upgradeMinutes)
	f := &Finding{Kind: Upgrade, Subject: n.name, What: []string{what}, rank: rankOf(n), upgrade: &upgrade{from, to}}
	if total := len(t.controlPlanes()); n.controlPlane && total > 1 {
		f.What = append(f.What, fmt.Sprintf("%d of %d control planes stay", total-1, total))
	} else if n.controlPlane {
		f.Means = []string{"the Kubernetes API is away while it reboots: this is the only control plane"}
	}
	return f
}

func kubernetesUpgraded(s plan.Step, t topology) *Finding {
	from, known := kubernetesOf(updateOf(s.Old))
	to, _ := kubernetesOf(updateOf(s.New))
	change := "→ " + to.String()
	if known {
		change = from.String() + " " + change
	}
	return &Finding{
		Kind: Upgrade, Subject: "Kubernetes", What: []string{change + " (API servers one by one, kubelets last; no node reboots)"}, rank: rankCluster, kubernetes: from,
	}
}
