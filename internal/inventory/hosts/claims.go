package hosts

import (
	"net/netip"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// oneStack is what to do about something that two stacks of hosts describe: each would put back what the other one changes.
const oneStack = "describe it in one of the two stacks"

// Claims implements [inventory.Claimant]: it returns what no other stack may describe as well, and the addresses of hosts, in the order of the file.
// A pool is no claim, since several stacks may have machines in it.
func (i *Inventory) Claims() []inventory.Claim {
	var all []inventory.Claim
	add := func(host, kind, value, owner string, at *strictyaml.Path, do string) {
		all = append(all, inventory.Claim{
			ID: inventory.ClaimID{Kind: kind, Host: host, Value: value}, Owner: owner, Do: do, At: at,
			File: filepath.Join(i.Dir, manifest.HostsFile), Source: i.source,
		})
	}
	for at, host := range i.File.Hosts {
		i.claimsOf(host, key("hosts").Index(at), add)
	}
	named := func(list, kind string, number int, name func(int) string) {
		for at := range number {
			add("", kind, name(at), "a "+kind, key(list).Index(at).Key("name"), oneStack)
		}
	}
	f := i.File
	named("storages", "storage", len(f.Storages), func(at int) string { return f.Storages[at].Name })
	named("mappings", "mapping", len(f.Mappings), func(at int) string { return f.Mappings[at].Name })
	named("usbMappings", "USB mapping", len(f.USBMappings), func(at int) string { return f.USBMappings[at].Name })
	named("metricServers", "metric server", len(f.MetricServers), func(at int) string { return f.MetricServers[at].Name })
	named("backupJobs", "backup job", len(f.BackupJobs), func(at int) string { return f.BackupJobs[at].Name })
	for at, role := range f.Access.Roles {
		add("", "role", role.Name, "a role", key("access", "roles").Index(at).Key("name"), oneStack)
	}
	for at, group := range f.Access.Groups {
		add("", "group", group.Name, "a group", key("access", "groups").Index(at).Key("name"), oneStack)
	}
	for at, user := range f.Access.Users {
		add("", "user", user.ID, "a user", key("access", "users").Index(at).Key("id"), oneStack)
	}
	return all
}

// claimsOf adds what a stack describes of one host.
func (i *Inventory) claimsOf(host Host, at *strictyaml.Path, add func(host, kind, value, owner string, at *strictyaml.Path, do string)) {
	interfaces := func(list string, index int, name string, on Addressed) {
		path := at.Key("network").Key(list).Index(index)
		if i.source.Has(path.Key("name")) {
			add(host.Name, "interface", name, "an interface of "+host.Name, path.Key("name"), oneStack)
		} else {
			add(host.Name, "interface", name, "an interface of "+host.Name, path, oneStack)
		}
		for _, one := range []struct {
			key     string
			address netip.Prefix
		}{{"address", on.Address}, {"address6", on.Address6}} {
			if one.address.IsValid() {
				add("", inventory.ClaimedAddress, one.address.Addr().String(), "an address of the host "+host.Name, path.Key(one.key), inventory.AnotherAddress)
			}
		}
	}
	for index, bridge := range host.Network.Bridges {
		interfaces("bridges", index, bridge.Name, bridge.Addressed)
	}
	for index, vlan := range host.Network.VLANs {
		interfaces("vlans", index, vlan.Name, vlan.Addressed)
	}
	if host.DNS != nil {
		add(host.Name, "resolver", host.Name, "the resolver of "+host.Name, at.Key("dns"), oneStack)
	}
	if host.TimeZone != "" {
		add(host.Name, "time zone", host.Name, "the time zone of "+host.Name, at.Key("timeZone"), oneStack)
	}
	for index, line := range host.Names {
		add(host.Name, "names", line.Address.String(), "a line of /etc/hosts of "+host.Name, at.Key("names").Index(index).Key("address"), oneStack)
	}
	for index, repository := range host.Repositories {
		add(host.Name, "repository", repository.Handle, "a repository of "+host.Name, at.Key("repositories").Index(index).Key("handle"), oneStack)
	}
}
