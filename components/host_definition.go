package components

import (
	"errors"
	"slices"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostMetricServer is a server that all hosts send their statistics to. One that exists is adopted. The provider has no resource for it.
type HostMetricServer struct {
	// Name is the ID in Proxmox VE. Required. A change makes another one.
	Name string
	// Type is graphite, influxdb or opentelemetry. Required. A change removes the definition and makes it anew.
	Type string
	// Settings by their names in status.cfg, e.g. server and port. Required. A change is applied in place. One without a value is removed.
	Settings []HostOption
	// Token of influxdb. Default: none. Secret. A change is applied in place.
	Token pulumi.StringInput
}

// Spec returns the server in the form that the tool reads, without its token.
func (m HostMetricServer) Spec() hostspec.Definition {
	return hostspec.Definition{
		Kind: hostspec.MetricServer, ID: m.Name, Fixed: []hostspec.Setting{{Name: "type", Value: m.Type}}, Settings: hostOptions(m.Settings),
	}
}

func (m HostMetricServer) validate(at string) error {
	types := []string{"graphite", "influxdb", "opentelemetry"}
	return errors.Join(requireName(limits.ConfigID, m.Name, at+".Name"), require(m.Name != "", at+".Name", "name the server"),
		require(slices.Contains(types, m.Type), at+".Type", "choose graphite, influxdb or opentelemetry"),
		require(len(m.Settings) > 0, at+".Settings", "give server and port at least"))
}

// HostBackupJob makes backups of machines at times. One that exists is adopted. The provider has no resource for it.
type HostBackupJob struct {
	// Name is the ID in Proxmox VE. Required. A change makes another one.
	Name string
	// Settings by their names in jobs.cfg, e.g. schedule, storage and pool. Required. A change is applied in place. One without a value is removed.
	Settings []HostOption
}

// Spec returns the job in the form that the tool reads.
func (b HostBackupJob) Spec() hostspec.Definition {
	return hostspec.Definition{Kind: hostspec.BackupJob, ID: b.Name, Settings: hostOptions(b.Settings)}
}

func (b HostBackupJob) validate(at string) error {
	return errors.Join(requireName(limits.ConfigID, b.Name, at+".Name"), require(b.Name != "", at+".Name", "name the job"),
		require(len(b.Settings) > 0, at+".Settings", "give schedule, storage and the machines at least"))
}

// hostDefinition is a definition of the cluster, such as a storage, as its Command gets it.
type hostDefinition struct {
	// noun of its operations: `em-infra host NOUN apply`.
	noun string
	// id and fixed are what Proxmox VE cannot change in a definition: if one of them changes, another definition is made.
	id    string
	fixed []hostspec.Setting
	// variable passes its text, and secretVariable its secret; nil for none.
	variable, text string
	secretVariable string
	secret         pulumi.StringInput
}

// register registers the Command that makes the definition. Its delete removes a definition that the Command has made, and leaves what it
// describes, such as the data of a storage. The output of the Command names the owner of the definition, and pulumi-command passes it to the
// delete.
func (d hostDefinition) register(ctx *pulumi.Context, name string, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment[d.variable] = pulumi.String(d.text)
	if d.secret != nil {
		environment[d.secretVariable] = pulumi.ToSecret(d.secret).(pulumi.StringOutput)
	}
	triggers := []any{d.id}
	for _, fixed := range d.fixed {
		triggers = append(triggers, fixed.Value)
	}
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " host " + d.noun + " apply"),
		Delete:      pulumi.String(Tool + " host " + d.noun + " release"),
		Environment: environment,
		Triggers:    pulumi.ToArray(triggers),
	}, opts...)
}

// newHostDefinition registers the Command that makes a metric server or a backup job.
func newHostDefinition(ctx *pulumi.Context, name string, wanted hostspec.Definition, secret pulumi.StringInput, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	return hostDefinition{
		noun: "definition", id: wanted.ID, fixed: wanted.Fixed, variable: "EM_INFRA_HOST_DEFINITION", text: wanted.Text(),
		secretVariable: "EM_INFRA_HOST_DEFINITION_SECRET", secret: secret,
	}.register(ctx, name, api, opts...)
}

// HostDefinitionName returns the logical name of a metric server or a backup job.
func HostDefinitionName(name string, wanted hostspec.Definition) string {
	kinds := map[hostspec.Kind]string{hostspec.MetricServer: "metrics", hostspec.BackupJob: "backup"}
	return name + "-" + kinds[wanted.Kind] + "-" + wanted.ID
}
