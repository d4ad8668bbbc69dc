package components

import (
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/pve/limits"
)

func (args *ProxmoxHostArgs) validate() error {
	if args == nil {
		return errors.New("args: give ProxmoxHostArgs")
	}
	problems := []error{args.API.validate(), require(len(args.Hosts) > 0, "Hosts", "name one host at least")}
	for i, host := range args.Hosts {
		problems = append(problems, requireName(limits.Host, host, fmt.Sprintf("Hosts[%d]", i)))
	}
	for i, network := range args.Networks {
		at := fmt.Sprintf("Networks[%d]", i)
		same := func(other HostNetwork) bool { return other.Host == network.Host }
		problems = append(problems, network.validate(at),
			require(slices.Contains(args.Hosts, network.Host), at+".Host", network.Host+" is not among Hosts"),
			require(slices.IndexFunc(args.Networks, same) == i, at+".Host", network.Host+" has a network already"))
	}
	for i, dns := range args.DNS {
		at := fmt.Sprintf("DNS[%d]", i)
		same := func(other HostDNS) bool { return other.Host == dns.Host }
		problems = append(problems, dns.validate(at),
			require(slices.Contains(args.Hosts, dns.Host), at+".Host", dns.Host+" is not among Hosts"),
			require(slices.IndexFunc(args.DNS, same) == i, at+".Host", dns.Host+" has a resolver already"))
	}
	problems = append(problems, validateOptions(args.Options, "Options"), args.validateSettings())
	for i, storage := range args.Storages {
		at := fmt.Sprintf("Storages[%d]", i)
		same := func(other HostStorage) bool { return other.Name == storage.Name }
		problems = append(problems, storage.validate(at), require(slices.IndexFunc(args.Storages, same) == i, at+".Name", storage.Name+" is given twice"))
	}
	for i, wanted := range args.Mappings {
		at := fmt.Sprintf("Mappings[%d]", i)
		same := func(other HostMapping) bool { return other.Name == wanted.Name }
		problems = append(problems, wanted.validate(at), require(slices.IndexFunc(args.Mappings, same) == i, at+".Name", wanted.Name+" is given twice"))
	}
	for i, wanted := range args.USBMappings {
		at := fmt.Sprintf("USBMappings[%d]", i)
		same := func(other HostUSBMapping) bool { return other.Name == wanted.Name }
		problems = append(problems, wanted.validate(at), require(slices.IndexFunc(args.USBMappings, same) == i, at+".Name", wanted.Name+" is given twice"))
	}
	problems = append(problems, args.Access.validate("Access"))
	for i, token := range args.Tokens {
		at := fmt.Sprintf("Tokens[%d]", i)
		same := func(other HostToken) bool { return other.ID() == token.ID() }
		problems = append(problems, token.validate(at), require(slices.IndexFunc(args.Tokens, same) == i, at+".Name", token.ID()+" is given twice"))
	}
	return errors.Join(problems...)
}

// validateSettings checks what hosts always have, and the definitions of the cluster.
func (args *ProxmoxHostArgs) validateSettings() error {
	var problems []error
	for i, settings := range args.Settings {
		at := fmt.Sprintf("Settings[%d]", i)
		same := func(other HostSettings) bool { return other.Host == settings.Host }
		problems = append(problems, settings.validate(at),
			require(slices.Contains(args.Hosts, settings.Host), at+".Host", settings.Host+" is not among Hosts"),
			require(slices.IndexFunc(args.Settings, same) == i, at+".Host", settings.Host+" has settings already"))
	}
	for i, server := range args.MetricServers {
		at := fmt.Sprintf("MetricServers[%d]", i)
		same := func(other HostMetricServer) bool { return other.Name == server.Name }
		problems = append(problems, server.validate(at), require(slices.IndexFunc(args.MetricServers, same) == i, at+".Name", server.Name+" is given twice"))
	}
	for i, job := range args.BackupJobs {
		at := fmt.Sprintf("BackupJobs[%d]", i)
		same := func(other HostBackupJob) bool { return other.Name == job.Name }
		problems = append(problems, job.validate(at), require(slices.IndexFunc(args.BackupJobs, same) == i, at+".Name", job.Name+" is given twice"))
	}
	return errors.Join(problems...)
}
