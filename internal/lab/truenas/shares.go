package truenas

import (
	"net/netip"
	"slices"
	"strings"
)

// nfsShares is the namespace of NFS shares.
const nfsShares = "sharing.nfs"

// rowServices are the services with numbers as IDs.
func (b *Box) rowServices() []*rowService {
	services := []*rowService{b.shares()}
	services = append(services, b.iscsi()...)
	return append(services, b.accounts()...)
}

// shares are the NFS shares of api/v25_10_5/nfs.py, NfsShareCreate, and plugins/nfs.py, SharingNFSService.
func (b *Box) shares() *rowService {
	return &rowService{
		box: b, namespace: nfsShares, noun: "SharingNFS", role: "SHARING_NFS", wider: []string{"SHARING"}, schema: "sharingnfs",
		fields: model{
			{"path", nonEmpty, required}, {"aliases", listOf(nonEmpty), []any{}}, {"comment", text, ""}, {"networks", listOf(nonEmpty), []any{}},
			{"hosts", listOf(nonEmpty), []any{}}, {"ro", boolean, false}, {"maproot_user", orNull(text), nil}, {"maproot_group", orNull(text), nil},
			{"mapall_user", orNull(text), nil}, {"mapall_group", orNull(text), nil},
			{"security", listOf(oneOf("SYS", "KRB5", "KRB5I", "KRB5P")), []any{}}, {"enabled", boolean, true}, {"expose_snapshots", boolean, false},
		},
		check: b.checkShare,
		complete: func(row entry) entry {
			row["locked"] = b.fails(faultLocked, "")
			return row
		},
	}
}

// checkShare is SharingNFSService.validate, as far as it is about paths, networks and users.
func (b *Box) checkShare(row, old entry, schema string, problems *invalids) {
	networks := anyList(row["networks"])
	for i, one := range networks {
		network, err := netip.ParsePrefix(words(one))
		if err != nil {
			problems.add(schema+".networks", "'%s' does not appear to be an IPv4 or IPv6 network", words(one))
			return
		}
		for _, other := range networks[:i] {
			if before, err := netip.ParsePrefix(words(other)); err == nil && before.Overlaps(network) {
				problems.add(schema+".networks", "ERROR - Overlapped subnets: [('%s', '%s')]", words(other), words(one))
			}
		}
	}
	path := words(row["path"])
	if name := strings.TrimPrefix(path, "/mnt/"); b.dataset(poolOf(name)) == nil || !strings.HasPrefix(path, "/mnt/") {
		problems.add(schema+".path", "The path must reside within a pool mount point")
	} else if b.dataset(name) == nil {
		problems.add(schema+".path", "This path does not exist.")
	}
	for _, other := range b.state.Rows[nfsShares] {
		if old != nil && words(other["id"]) == words(old["id"]) || other["path"] != row["path"] {
			continue
		}
		if slices.ContainsFunc(networks, func(one any) bool { return slices.Contains(anyList(other["networks"]), one) }) {
			problems.add(schema+".path", "ERROR - Export conflict. Another share with the same path exports %s for %s", path, encoded(other["networks"]))
		}
	}
	for _, name := range []string{"maproot", "mapall"} {
		user, group := row[name+"_user"], row[name+"_group"]
		if user == nil && group != nil {
			problems.add(schema+"."+name+"_user", "This field is required when map group is specified")
		}
		if user != nil && user != "root" && b.account(words(user)) == nil {
			problems.add(schema+"."+name+"_user", "User not found: %s", words(user))
		}
	}
	if row["maproot_user"] != nil && row["mapall_user"] != nil {
		problems.add(schema+".mapall_user", "maproot_user disqualifies mapall_user")
	}
	if row["expose_snapshots"] == true {
		problems.add(schema+".expose_snapshots", "This is an enterprise feature and may not be enabled without a valid license.")
	}
}
