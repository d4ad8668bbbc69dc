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
	isHost := func(host, at string) error {
		return require(slices.Contains(args.Hosts, host), at, host+" is not among Hosts")
	}
	problems = append(problems,
		validateEach("Networks", ".Host", " has a network already", args.Networks, func(n HostNetwork) string { return n.Host }, isHost),
		validateEach("DNS", ".Host", " has a resolver already", args.DNS, func(d HostDNS) string { return d.Host }, isHost),
		validateOptions(args.Options, "Options"),
		validateEach("Settings", ".Host", " has settings already", args.Settings, func(s HostSettings) string { return s.Host }, isHost),
		validateEach("MetricServers", ".Name", givenTwice, args.MetricServers, func(m HostMetricServer) string { return m.Name }),
		validateEach("BackupJobs", ".Name", givenTwice, args.BackupJobs, func(b HostBackupJob) string { return b.Name }),
		validateEach("Storages", ".Name", givenTwice, args.Storages, func(s HostStorage) string { return s.Name }),
		validateEach("Mappings", ".Name", givenTwice, args.Mappings, func(m HostMapping) string { return m.Name }),
		validateEach("USBMappings", ".Name", givenTwice, args.USBMappings, func(m HostUSBMapping) string { return m.Name }),
		args.Access.validate("Access"),
		validateEach("Tokens", ".Name", givenTwice, args.Tokens, HostToken.ID),
	)
	return errors.Join(problems...)
}

const givenTwice = " is given twice"

// validateEach validates the items of a list, runs the checks on their names, and refuses a name that two items have: the error is the name
// followed by taken.
func validateEach[T interface{ validate(at string) error }](list, field, taken string, items []T, name func(T) string, checks ...func(name, at string) error) error {
	var problems []error
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", list, i)
		problems = append(problems, item.validate(at))
		for _, check := range checks {
			problems = append(problems, check(name(item), at+field))
		}
		same := func(other T) bool { return name(other) == name(item) }
		problems = append(problems, require(slices.IndexFunc(items, same) == i, at+field, name(item)+taken))
	}
	return errors.Join(problems...)
}
