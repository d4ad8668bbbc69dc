package operator

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/stacks"
)

// settingsRuns returns what an up does with the settings of each host. Commands are those of the state.
func (h hostsLayer) settingsRuns(host pve.Connection, commands map[string]*apitype.ResourceV3) ([]pve.HostSettingsRun, error) {
	var runs []pve.HostSettingsRun
	settings, names := stacks.HostSettings(h.Inventory)
	for i, wanted := range settings {
		made, err := madeBefore(commands[names[i]])
		if err != nil {
			return nil, err
		}
		runs = append(runs, pve.HostSettingsRun{Connection: host, Wanted: wanted, Made: made})
	}
	return runs, nil
}

// optionsRun returns what an up does with the options of the cluster.
func (h hostsLayer) optionsRun(host pve.Connection) pve.OptionsRun {
	wanted, _ := stacks.HostOptions(h.Inventory)
	return pve.OptionsRun{Connection: host, Wanted: wanted}
}

// definitionRuns returns what an up does with each metric server and backup job.
func (h hostsLayer) definitionRuns(host pve.Connection, commands map[string]*apitype.ResourceV3) []pve.DefinitionRun {
	var runs []pve.DefinitionRun
	definitions, names := stacks.HostDefinitions(h.Inventory)
	for i, wanted := range definitions {
		runs = append(runs, pve.DefinitionRun{Connection: host, Wanted: wanted, Made: makesAnew(commands[names[i]], wanted.ID, wanted.Fixed)})
	}
	return runs
}

// madeBefore returns the names of what a Command has made; nothing without a Command.
func madeBefore(command *apitype.ResourceV3) ([]string, error) {
	made, err := hostspec.ParseMade(printedBy(command))
	if err != nil {
		return nil, fmt.Errorf("what %s has made cannot be read from the state (%w): run it with the version of em-infra that wrote the state", command.URN.Name(), err)
	}
	return made, nil
}

// settingsByCommands are the settings of hosts, the options of the cluster, metric servers and backup jobs.
func (h hostsLayer) settingsByCommands(host pve.Connection) []madeByCommand {
	var all []madeByCommand
	settings, names := stacks.HostSettings(h.Inventory)
	for i, wanted := range settings {
		all = append(all, madeByCommand{
			name: names[i], subject: "settings of " + wanted.Node, property: "settings",
			differences: pve.HostSettingsRun{Connection: host, Wanted: wanted}.Differences,
		})
	}
	if options, name := stacks.HostOptions(h.Inventory); len(options) > 0 {
		all = append(all, madeByCommand{
			name: name, subject: "options of the cluster", property: "options", differences: h.optionsRun(host).Differences,
		})
	}
	definitions, names := stacks.HostDefinitions(h.Inventory)
	for i, wanted := range definitions {
		all = append(all, madeByCommand{
			name: names[i], subject: wanted.String(), property: "settings", differences: pve.DefinitionRun{Connection: host, Wanted: wanted}.Differences,
		})
	}
	return all
}
