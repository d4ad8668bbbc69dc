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

// etcdTrouble contains the errors of members with inconsistent data or membership.
var etcdTrouble = []row{
	{
		name: "etcd-upgrade-unhealthy", speaker: talos, failure: "F4", source: "talos internal/pkg/etcd/etcd.go, ValidateForUpgrade; hcloud-k8s/terraform-hcloud-kubernetes#183",
		pattern: saying(`error validating etcd for upgrade: etcd member (?P<member>\w+) is not healthy`),
		meaning: "member {member} does not answer, and Talos upgrades no control plane while one is ill",
		do:      "bring that control plane up first (`em-infra status`), then run the same command again",
		safe:    notTouched,
	},
	{
		name: "etcd-leave-failed", speaker: talos, failure: "F25", source: "talos v1alpha1_sequencer_tasks.go, LeaveEtcd; siderolabs/talos#7423",
		pattern: saying(`failed to leave cluster: (?P<why>[^\n]+)`),
		meaning: "a control plane could not leave etcd before its upgrade or removal, since etcd stopped or had no leader",
		do:      "see that more than half of the control planes run (`em-infra status`); then " + upAgain,
		safe:    "yes: it is a member still, and comes back with its next boot",
	},
	{
		name: "etcd-space", speaker: "etcd", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go; siderolabs/talos#4888",
		pattern: saying(`mvcc: database space exceeded`),
		meaning: "etcd's database has reached its quota and takes no more writes",
		do:      "run `em-infra etcd defragment`, which frees it on one control plane after the other and disarms the alarm",
		safe:    "yes: nothing is lost, and reading still works",
	},
	{
		name: "etcd-cluster-id", speaker: "etcd", failure: "F7", source: "go.etcd.io/etcd server/v3/etcdserver/api/rafthttp; etcd-io/etcd#11562",
		pattern: saying(`request cluster ID mismatch`),
		meaning: "two nodes have data of two etcd clusters: one was bootstrapped for itself, or its disk is an older cluster's",
		do:      "`em-infra status` shows which does not belong; reset that one with talosctl -n ADDRESS reset, then " + upAgain,
		safe:    "no: the data of the node that is reset is lost; be sure which of the two is the cluster",
	},
	{
		name: "etcd-removed", speaker: "etcd", failure: "F25", source: "go.etcd.io/etcd server/v3/etcdserver; etcd-io/etcd#10828",
		pattern: saying(`the member has been permanently removed from the cluster`),
		meaning: "the node was taken out of etcd and still has the data of the member that it was",
		do:      "reset it with talosctl -n ADDRESS reset, after which it joins as a new member; then " + upAgain,
		safe:    "yes for the cluster, which has gone on without it; see first that the others are well (`em-infra status`)",
	},
	{
		name: "etcd-not-voting", speaker: "etcd", failure: "F27", source: "go.etcd.io/etcd api/v3/v3rpc/rpctypes/error.go; siderolabs/talos#5794",
		pattern: saying(`etcdserver: rpc not supported for learner`),
		meaning: "the member still learns, and is asked for what only a full member answers",
		do:      "wait until `em-infra status` shows it started; one that stays so cannot reach the others on ports 2379 and 2380",
		safe:    goesOn,
	},
	{
		name: "snapshot-impossible", speaker: program, source: "internal/nodeops/etcd_snapshot.go",
		pattern: saying(`no control plane gives a snapshot of etcd|no snapshot of etcd could be kept before|etcd on (?P<node>\S+) gives no snapshot`),
		meaning: "no control plane could hand out a snapshot of etcd, or it could not be written here; without one no control plane is changed",
		do:      "see `em-infra status` for what etcd lacks, and make room in the folder of the backups; then run the same command again",
		safe:    notTouched,
	},
	{
		name: "snapshot-sealed", speaker: program, source: "internal/etcdsnapshot/open.go",
		pattern: saying(`the snapshot (?P<name>\S+): it is sealed for others`),
		meaning: "the snapshot {name} was encrypted for other age keys, or with another passphrase than the one at hand",
		do:      "set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of that time, or SOPS_AGE_KEY_FILE to the key of one of backups.recipients",
		safe:    notTouched,
	},
	{
		name: "snapshot-damaged", speaker: program, source: "internal/etcdsnapshot/open.go",
		pattern: saying(`the snapshot (?P<name>\S+): (?:it is (?:damaged or cut off|no file of age)|the snapshot (?:is cut off|is no database|does not have)|the database in the snapshot|it has revision)`),
		meaning: "the file of the snapshot {name} is not what was written: it was cut off, changed or exchanged",
		do:      "use another one that `em-infra etcd list` shows, or take one with `em-infra etcd snapshot`",
		safe:    notTouched,
	},
	{
		name: "control-plane-unspared", speaker: program, failure: "F25", source: "internal/nodeops/removal/spare.go",
		pattern: saying(`(?P<node>\S+) is untouched, because etcd cannot do without it`),
		meaning: "without {node}, etcd would have no majority of members that work, or a control plane that stays has not joined yet",
		do:      "see the members in `em-infra status`, start or repair the others, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "removal-lease-refused", speaker: program, failure: "F25", source: "internal/nodeops/removal/lock.go",
		pattern: saying(`(?P<node>\S+) is untouched, because the Lease em-infra-control-planes in kube-system cannot be taken`),
		meaning: "one control plane is removed at a time, by who holds this Lease; the Kubernetes API has refused it, or not answered, for ten minutes",
		do:      "the brackets give the answer of the API: an admission webhook whose pods do not run is the usual cause, so start them or delete its ValidatingWebhookConfiguration; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "control-plane-by-pulumi", speaker: program, failure: "F25", source: "cmd/em-infra/node_remove.go",
		pattern: saying(`(?P<node>\S+) is a control plane, and pulumi alone does not know which control planes stay`),
		meaning: "a plain `pulumi` was to delete {node}, whose member has to leave etcd first",
		do:      "run `em-infra up`, which asks for your consent, or put it back into nodes.yaml as it was",
		safe:    notTouched,
	},
	{
		name: "member-stays", speaker: program, failure: "F25", source: "internal/nodeops/removal/control_plane.go",
		pattern: saying(`the member of (?P<node>\S+) (?:does not leave etcd|cannot be removed from etcd|says that it has left etcd)`),
		meaning: "the member of {node} is still one of etcd's: the others did not confirm that it has left",
		do:      "see the members in `em-infra status`, and " + upAgain + ", which goes on from here",
		safe:    goesOn,
	},
}

// etcdAlarms contains the errors of alarms.
var etcdAlarms = []row{
	{
		name: "etcd-alarm-space", speaker: program, source: "internal/nodeops/etcd_alarms.go; etcd server/etcdserver/apply/apply.go, applierV3Capped",
		pattern: saying(`etcd has reached the quota of its database and takes no writes`),
		meaning: "the database of a member has reached its quota, and etcd takes no writes until its alarm is disarmed",
		do:      "run `em-infra etcd defragment`, which frees it on one control plane after the other and disarms the alarm",
		safe:    "yes: nothing is lost, and reading still works",
	},
	{
		name: "etcd-alarm-again", speaker: program, source: "operator/etcd_alarms.go",
		pattern: saying(`etcd raises the alarm (?P<alarm>\S+) again`),
		meaning: "the databases are full of keys or of old revisions: Kubernetes compacts them every five minutes, and could not while etcd took no writes",
		do:      "wait five minutes, then run `em-infra etcd defragment` again; if that does not help, find what writes so much and delete those objects, which works while the alarm stands; when no alarm is left, you can raise quota-backend-bytes in cluster.etcd.extraArgs of talos.patches, to 8 GiB at most, with `em-infra up` and then `em-infra reboot` of each control plane",
		safe:    "yes: nothing is lost",
	},
	{
		name: "etcd-alarm-corrupt", speaker: program, source: "internal/nodeops/etcd_alarms.go; etcd server/etcdserver/corrupt.go",
		pattern: saying(`etcd has found corrupt data and refuses requests|the data of etcd on (?P<node>\S+) differ from those of the others|etcdserver: corrupt cluster`),
		meaning: "the data of one member differ from those of the others, and etcd refuses requests until it is gone or has theirs",
		do:      "`em-infra etcd disarm` says which control plane it is; reset that one as it says, so that it joins anew with the data of the others, then run the command again",
		safe:    "no: do not disarm the alarm by other means before, since etcd would hand out wrong data",
	},
	{
		name: "etcd-not-defragmented", speaker: program, source: "internal/nodeops/etcd_defragment.go",
		pattern: saying(`(?P<node>\S+) is not defragmented, because etcd cannot do without it`),
		meaning: "a member that is defragmented answers nothing meanwhile, and another one is missing already",
		do:      "start or repair the other control plane (`em-infra status`), then run `em-infra etcd defragment` again",
		safe:    goesOn,
	},
}
