package explain

var etcdMembers = []row{
	{
		name: "etcd-too-few", speaker: "etcd", failure: "F25", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go",
		pattern: saying(`etcdserver: re-configuration failed due to not enough started members`),
		meaning: "a member is down, and the change would cost etcd its majority",
		do:      "bring the other control planes up first (`em-infra status`), then run the same command again",
		safe:    notTouched,
	},
	{
		name: "etcd-unhealthy", speaker: "etcd", failure: "F25", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go",
		pattern: saying(`etcdserver: unhealthy cluster`),
		meaning: "a member does not answer the others",
		do:      "see which (`em-infra status`), start its machine, and run the same command again when all are well",
		safe:    notTouched,
	},
	{
		name: "etcd-learner", speaker: "etcd", failure: "F27", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go",
		pattern: saying(`etcdserver: too many learner members in cluster`),
		meaning: "a control plane that joined before is not a full member yet",
		do:      "wait until `em-infra status` shows it started; one that stays so advertises a wrong address; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "etcd-no-leader", speaker: "etcd", failure: "F28", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go",
		pattern: saying(`etcdserver: (?:no leader|leader changed|request timed out)`),
		meaning: "etcd has no majority, or its disks are too slow to keep one",
		do:      "see that more than half of the control planes run; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "etcd-quorum-upgrade", speaker: talos, failure: "F4", source: "talos internal/pkg/etcd/etcd.go, ValidateForUpgrade",
		pattern: saying(`etcd member count\((?P<count>\d+)\) is insufficient to maintain quorum if upgrade commences`),
		meaning: "with {count} members, none may be away",
		do:      "add a control plane so that there are three, or upgrade with a pause of the API",
		safe:    notTouched,
	},
	{
		name: "etcd-addresses", speaker: talos, failure: "F27", source: "talos pkg/cluster/check/etcd.go",
		pattern: saying(`etcd member ips .* are not subset of control plane node ips`),
		meaning: "etcd advertises an address that is not the node's: the VIP, or one that DHCP gave",
		do:      "look for addresses in talos.patches that are not the inventory's, remove them, then " + upAgain,
		safe:    goesOn,
	},
}
