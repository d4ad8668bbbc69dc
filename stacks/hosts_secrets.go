package stacks

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// hostSecret is a secret that an item of a list of hosts.yaml needs.
type hostSecret struct {
	key

	list  string
	index int
}

// hostSecrets returns the secrets of an inventory: the passwords of storages, then the tokens of metric servers.
func hostSecrets(inv *hosts.Inventory) []hostSecret {
	var needed []hostSecret
	for i, storage := range inv.File.Storages {
		if storage.NeedsPassword() {
			needed = append(needed, hostSecret{key{"storagePassword." + storage.Name, "storages." + storage.Name + ".password"}, "storages", i})
		}
	}
	for i, server := range inv.File.MetricServers {
		if server.NeedsToken() {
			needed = append(needed, hostSecret{key{"metricServerToken." + server.Name, "metricServers." + server.Name + ".token"}, "metricServers", i})
		}
	}
	return needed
}

// addSecrets sets the secrets of storages and metric servers. The error is a [*manifest.Problems] with all that are missing.
func addSecrets(ctx *pulumi.Context, inv *hosts.Inventory, args *components.ProxmoxHostArgs, options Options) error {
	file := fileReader(ctx.Context(), inv.Dir, options.secretsReader())
	var problems manifest.Problems
	for _, wanted := range hostSecrets(inv) {
		value, err := wanted.find(configuredIn(ctx), file)
		switch {
		case err != nil:
			return err
		case value == "":
			problems = append(problems, inv.ItemProblem(wanted.list, wanted.index, wanted.missing(placeOf(ctx.Stack()))))
		case wanted.list == "storages":
			args.Storages[wanted.index].Password = secretText(value)
		default:
			args.MetricServers[wanted.index].Token = secretText(value)
		}
	}
	return problems.OrNil()
}
