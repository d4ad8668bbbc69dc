package components

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-command/sdk/go/command/local"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
	"github.com/em-infra/em-infra/internal/pve/limits"
)

// HostSettings are settings that a host always has. What is left out stays as it is. A Command sets them, not the provider's Time, Hosts and
// Repository: the first shows the clock as a change in every refresh, the second writes the whole of /etc/hosts, and the third finds a repository
// by its index in a file that others may edit, too (bpg/terraform-provider-proxmox v0.73.0, proxmoxtf/resource/time.go and hosts.go,
// fwprovider/nodes/apt).
type HostSettings struct {
	// Host is the name of the node of Proxmox VE. Required. A change touches nothing on the former host but the names that were added there.
	Host string
	// TimeZone such as Europe/Berlin. Default: it stays as it is. A change is applied in place, and a destroy leaves it.
	TimeZone string
	// Names are lines of /etc/hosts. Default: none. A change is applied in place; lines that were added here go when they are left out.
	Names []HostNames
	// Repositories are standard repositories of packages. Default: none. A change is applied in place, and a destroy leaves them.
	Repositories []HostRepository
}

// HostNames is a line of /etc/hosts.
type HostNames struct {
	// Address of the names. Required.
	Address netip.Addr
	// Names of the address, the canonical one first. Required.
	Names []string
}

// HostRepository is a standard repository of packages.
type HostRepository struct {
	// Handle by which Proxmox VE knows it, e.g. no-subscription. Required.
	Handle string
	// Enabled is whether the host gets packages from it. Default: false.
	Enabled bool
}

// newHostSettings registers the Command that sets them. What it prints names the lines of /etc/hosts that it has added, and pulumi-command passes
// that to updates and to the delete.
func newHostSettings(ctx *pulumi.Context, name string, settings HostSettings, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment["EM_INFRA_HOST_SETTINGS"] = pulumi.String(settings.Spec().Text())
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create:      pulumi.String(Tool + " host settings apply"),
		Delete:      pulumi.String(Tool + " host settings release"),
		Environment: environment,
		Triggers:    pulumi.ToArray([]any{settings.Host}),
	}, opts...)
}

// HostSettingsName returns the logical name of the settings of a host.
func HostSettingsName(name, host string) string { return name + "-settings-" + host }

// Spec returns the settings in the form that the tool reads.
func (s HostSettings) Spec() hostspec.HostSettings {
	wanted := hostspec.HostSettings{Node: s.Host, TimeZone: s.TimeZone}
	for _, line := range s.Names {
		wanted.Names = append(wanted.Names, hostspec.HostNames(line))
	}
	for _, repository := range s.Repositories {
		wanted.Repositories = append(wanted.Repositories, hostspec.Repository(repository))
	}
	return wanted
}

func (s HostSettings) validate(at string) error {
	problems := []error{require(!s.Spec().IsEmpty(), at, "it sets nothing: leave it out")}
	for i, line := range s.Names {
		at := fmt.Sprintf("%s.Names[%d]", at, i)
		isOther := func(other HostNames) bool { return other.Address == line.Address }
		problems = append(problems,
			require(line.Address.IsValid() && line.Address.Zone() == "" && !line.Address.IsLoopback(), at+".Address", "it is no address without a zone, other than loopback: correct it"),
			require(slices.IndexFunc(s.Names, isOther) == i, at+".Address", fmt.Sprintf("%s is given twice", line.Address)),
			require(len(line.Names) > 0, at+".Names", "give one name at least"))
	}
	for i, repository := range s.Repositories {
		at := fmt.Sprintf("%s.Repositories[%d].Handle", at, i)
		isOther := func(other HostRepository) bool { return other.Handle == repository.Handle }
		problems = append(problems, require(repository.Handle != "", at, "name the repository"),
			require(slices.IndexFunc(s.Repositories, isOther) == i, at, repository.Handle+" is given twice"))
	}
	return errors.Join(problems...)
}

// HostOption is an option of the whole cluster of Proxmox VE, by its name and value in datacenter.cfg.
type HostOption struct {
	// Name of the option, e.g. keyboard. Required.
	Name string
	// Value of the option, e.g. de or type=secure,network=10.30.0.0/24. Required. A change is applied in place.
	Value string
}

// newHostOptions registers the Command that sets options of the cluster. It has no delete: a cluster always has them, while the provider's
// Options resets those that it has set (bpg/terraform-provider-proxmox v0.73.0, fwprovider/cluster/options/resource_options.go, Delete).
func newHostOptions(ctx *pulumi.Context, name string, options []HostOption, api ProxmoxAPI, opts ...pulumi.ResourceOption) (*local.Command, error) {
	environment := api.environment()
	environment["EM_INFRA_HOST_OPTIONS"] = pulumi.String(hostOptions(options).Text())
	return local.NewCommand(ctx, name, &local.CommandArgs{
		Create: pulumi.String(Tool + " host options apply"), Environment: environment,
	}, opts...)
}

// HostOptionsName returns the logical name of the options of the cluster.
func HostOptionsName(name string) string { return name + "-options" }

func hostOptions(options []HostOption) hostspec.Options {
	wanted := make(hostspec.Options, len(options))
	for i, option := range options {
		wanted[i] = hostspec.Setting(option)
	}
	return wanted
}

func validateOptions(options []HostOption, at string) error {
	var problems []error
	for i, option := range options {
		at := fmt.Sprintf("%s[%d]", at, i)
		same := func(other HostOption) bool { return other.Name == option.Name }
		problems = append(problems, requireNew(limits.Option, option.Name, slices.IndexFunc(options, same) < i, at+".Name"),
			require(option.Value != "", at+".Value", "give it, or leave the option out"))
	}
	return errors.Join(problems...)
}
