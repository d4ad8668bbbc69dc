package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/hosts"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/status"
	"github.com/em-infra/em-infra/stacks"
)

// hostsLayer is a stack of the kind Hosts.
type hostsLayer struct{ *hosts.Inventory }

var (
	_ layer              = hostsLayer{}
	_ inventory.Claimant = hostsLayer{}
)

// examine implements [layer].
func (h hostsLayer) examine(ctx context.Context, facts layerFacts) (preflight.Report, error) {
	commands := commandsByName(facts.deployment)
	made, err := madeBefore(commands[stacks.HostAccessName(h.Inventory)])
	if err != nil {
		return nil, err
	}
	access := pve.AccessRun{Connection: facts.host, Wanted: stacks.HostAccess(h.Inventory), Made: made}
	settings, err := h.settingsRuns(facts.host, commands)
	if err != nil {
		return nil, err
	}
	var tokens []pve.HostTokenRun
	wanted, names := stacks.HostTokens(h.Inventory)
	for i, token := range wanted {
		tokens = append(tokens, pve.HostTokenRun{Connection: facts.host, Wanted: token, Former: printedBy(commands[names[i]])})
	}
	return preflight.Hosts(ctx, preflight.HostsSubject{
		Inventory: h.Inventory, Networks: stacks.HostNetworks(h.Inventory), Storages: h.storageRuns(facts.host, commands),
		Access: access, Tokens: tokens, Allowed: facts.interfaces, Host: facts.host, Settings: settings,
		Options: h.optionsRun(facts.host), Definitions: h.definitionRuns(facts.host, commands),
	})
}

// storageRuns returns what an up does with each storage. Commands are those of the state.
func (h hostsLayer) storageRuns(host pve.Connection, commands map[string]*apitype.ResourceV3) []pve.StorageRun {
	var runs []pve.StorageRun
	for _, wanted := range stacks.HostStorages(h.Inventory) {
		command := commands[stacks.HostStorageName(h.Inventory, wanted.Name)]
		runs = append(runs, pve.StorageRun{Connection: host, Wanted: wanted, Made: makesAnew(command, wanted.Name, wanted.Fixed())})
	}
	return runs
}

// makesAnew reports whether an up makes a definition anew if one of its settings differs that Proxmox VE never changes. It does if the stack
// has made the definition and the inventory has another setting than the state, so that its Command is replaced. A definition that was made
// anew by hand is not removed.
func makesAnew(command *apitype.ResourceV3, id string, fixed []hostspec.Setting) bool {
	if !pve.WasMade(printedBy(command)) {
		return false
	}
	wanted := []any{id}
	for _, one := range fixed {
		wanted = append(wanted, one.Value)
	}
	before, _ := command.Inputs["triggers"].([]any)
	return !slices.Equal(before, wanted)
}

// systems implements [layer].
func (hostsLayer) systems() []status.System { return nil }

// resourceNames implements [layer].
func (hostsLayer) resourceNames() []string { return nil }

// commandsByName returns the Commands of a state by their logical names.
func commandsByName(deployment apitype.DeploymentV3) map[string]*apitype.ResourceV3 {
	commands := map[string]*apitype.ResourceV3{}
	for command := range state.Current(deployment, token.Command) {
		commands[command.URN.Name()] = command
	}
	return commands
}

// printedBy returns what a Command has printed, with its secrets; nothing without a Command.
func printedBy(command *apitype.ResourceV3) string {
	if command == nil {
		return ""
	}
	printed, _, err := propertymap.PlainText(command.Outputs, "stdout")
	if err != nil {
		return "" // as for a Command that the state does not have: it is compared with the host without its output
	}
	return printed
}

// findByHand implements [layer]: all objects of a stack of hosts that Commands have made, since no refresh reads those.
func (h hostsLayer) findByHand(ctx context.Context, host pve.Connection, deployment apitype.DeploymentV3) outOfBand {
	var seen outOfBand
	for _, pool := range h.File.Pools {
		if err := seen.askForPool(ctx, host, deployment, pool.Name); err != nil {
			seen.Unread = append(seen.Unread, fmt.Sprintf("the pool %s: %v", pool.Name, err))
		}
	}
	ask := func(made madeByCommand) {
		if err := seen.askFor(ctx, deployment, made); err != nil {
			seen.Unread = append(seen.Unread, err.Error())
		}
	}
	for _, wanted := range stacks.HostNetworks(h.Inventory) {
		ask(madeByCommand{
			name: stacks.HostNetworkName(h.Inventory, wanted.Node), subject: "network of " + wanted.Node, property: "interfaces",
			differences: pve.NetworkRun{Connection: host, Wanted: wanted}.Differences,
		})
	}
	for _, wanted := range stacks.HostStorages(h.Inventory) {
		ask(madeByCommand{
			name: stacks.HostStorageName(h.Inventory, wanted.Name), subject: "storage " + wanted.Name, property: "settings",
			differences: pve.StorageRun{Connection: host, Wanted: wanted}.Differences,
		})
	}
	if wanted := stacks.HostAccess(h.Inventory); !wanted.IsEmpty() {
		ask(madeByCommand{
			name: stacks.HostAccessName(h.Inventory), subject: "access", property: "roles, groups, users, permissions",
			differences: pve.AccessRun{Connection: host, Wanted: wanted}.Differences,
		})
	}
	for _, made := range h.settingsByCommands(host) {
		ask(made)
	}
	commands := commandsByName(deployment)
	wanted, names := stacks.HostTokens(h.Inventory)
	for i, token := range wanted {
		ask(madeByCommand{
			name: names[i], subject: "token " + token.ID, property: "settings and permissions",
			differences: pve.HostTokenRun{Connection: host, Wanted: token, Former: printedBy(commands[names[i]])}.Differences,
		})
	}
	return seen
}

// madeByCommand is what a Command of the stack has made on the hosts.
type madeByCommand struct {
	name              string // of the Command
	subject, property string // in a list of differences
	// differences returns what differs from the inventory, a sentence each.
	differences func(context.Context) ([]string, error)
}

// askFor compares what a Command has made with the inventory. A change of the inventory that is not applied yet shows as a change of the
// Command itself.
func (l *outOfBand) askFor(ctx context.Context, deployment apitype.DeploymentV3, made madeByCommand) error {
	commands := slices.Collect(state.Current(deployment, token.Command))
	at := slices.IndexFunc(commands, func(r *apitype.ResourceV3) bool { return r.URN.Name() == made.name })
	if at < 0 {
		return nil
	}
	differences, err := made.differences(ctx)
	if err != nil || len(differences) == 0 {
		return err
	}
	l.ByHand = append(l.ByHand, byHand{urn: commands[at].URN, have: drift.Undone(), described: true})
	l.Differences = append(l.Differences, drift.Difference{
		Subject: made.subject, Property: made.property, Want: "as in the inventory", Have: strings.Join(differences, "; "),
	})
	return nil
}
