package operator

import (
	"context"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/nodeops/kubernetesupgrade"
	"github.com/em-infra/em-infra/internal/versions"
)

// upgradeKubernetes upgrades a cluster in this process, in which the program runs, too.
func upgradeKubernetes(ctx context.Context, of components.KubernetesUpgrade) error {
	to, err := versions.Parse(of.To)
	if err != nil {
		return err
	}
	return kubernetesupgrade.Upgrade{Talosconfig: of.Talosconfig, Nodes: of.Nodes, To: to, Progress: of.Progress}.Run(ctx)
}
