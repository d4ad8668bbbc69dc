package explain

// restoreAgain is what to do about a restore that stopped half way.
const restoreAgain = "run `em-infra etcd restore` again, which goes on from there"

// etcdRestore contains the errors of a restore of etcd.
var etcdRestore = []row{
	{
		name: "restore-foreign", speaker: program, failure: "F1", source: "operator/internal/etcdrestore/choice.go",
		pattern: saying(`the snapshot (?P<name>\S+) is of (?:another cluster: the key|the cluster )`),
		meaning: "the snapshot {name} was taken of another cluster than that of the state, whose keys do not open its Secrets",
		do:      "choose another one that `em-infra etcd list` shows, or restore the state that belongs to it with `em-infra state restore`",
		safe:    notTouched,
	},
	{
		name: "restore-former-key", speaker: program, source: "operator/internal/etcdrestore/choice.go",
		pattern: saying(`the snapshot (?P<name>\S+) is from before .em-infra rotate encryption-key`),
		meaning: "the Secrets in {name} are sealed with a key that the cluster has no more, so no API server could read them",
		do:      "choose a later one that `em-infra etcd list` shows, or first restore the state from before the rotation with `em-infra state restore`",
		safe:    notTouched,
	},
	{
		name: "restore-minor", speaker: program, source: "operator/internal/etcdrestore/choice.go",
		pattern: saying(`the snapshot (?P<name>\S+) is of (?P<what>Kubernetes|Talos) (?P<version>\S+), and the inventory says`),
		meaning: "the data in {name} was written by {what} {version}, and another minor release need not be able to read it",
		do:      "set the version in cluster.yaml to that minor release, restore, and upgrade afterwards",
		safe:    notTouched,
	},
	{
		name: "restore-silent", speaker: program, failure: "F7", source: "operator/etcd_restore_choice.go",
		pattern: saying(`(?P<node>\S+) does not answer \(.*so its etcd may still work`),
		meaning: "{node} runs and does not answer, and may be part of an etcd that works: a second cluster would begin beside it",
		do:      "see on the console of its VM what it does, or stop the VM, then run the same command again",
		safe:    notTouched,
	},
	{
		name: "restore-off", speaker: program, source: "operator/internal/etcdrestore/seen.go",
		pattern: saying(`(?P<nodes>\S.*) of \d+ control planes are switched off, and may have all data of etcd`),
		meaning: "most control planes are only switched off, and etcd works again when they run",
		do:      upAgain + ", which starts them; delete their VMs only if they do not come up",
		safe:    notTouched,
	},
	{
		name: "restore-needless", speaker: program, source: "operator/etcd_restore_choice.go",
		pattern: saying(`etcd works and has (?P<count>\d+) members, and a restore takes it back in time`),
		meaning: "nothing is lost, and a restore deletes what was written after its snapshot",
		do:      "nothing; to go back on purpose, name the snapshot with --from",
		safe:    notTouched,
	},
	{
		name: "restore-half", speaker: program, source: "operator/internal/etcdrestore",
		pattern: saying(`etcd on (?P<node>\S+) does not work with the data of the snapshot|not every control plane was emptied|not every control plane has joined it|a restore of etcd (?:was begun|from \S+ was begun)`),
		meaning: "a restore of etcd stopped half way, and the data from before may be deleted already",
		do:      "mend what the message names, then " + restoreAgain,
		safe:    "yes: the snapshot is kept, and what it was made of",
	},
	{
		name: "replace-without-snapshot", speaker: program, source: "operator/internal/etcdrestore/choice.go",
		pattern: saying(`(?P<node>\S+) is the only control plane, and is not replaced without a snapshot of etcd`),
		meaning: "all data of the cluster is on {node}, and it could not be copied before its machine is deleted",
		do:      "see `em-infra status` for what etcd lacks, mend that, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "replaced-in-phases", speaker: program, source: "operator/replacements.go",
		pattern: saying(`(?P<nodes>\S.*) would be replaced one after the other, each with all phases`),
		meaning: "the next control plane is replaced when the one before has joined etcd, which a run of some phases does not reach",
		do:      upAgain + " without --until and --only, or give one of them with --only-node",
		safe:    notTouched,
	},
	{
		name: "replaced-unseen", speaker: program, source: "operator/replacements.go",
		pattern: saying(`no control plane is replaced while the members of etcd are not known`),
		meaning: "which control plane goes first depends on which ones are dead, and etcd does not say that",
		do:      "see `em-infra status`, start or repair the control planes that it names, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "former-node-left", speaker: program, source: "operator/etcd_restoration.go",
		pattern: saying(`etcd is restored, and the Node (?P<former>\S+), which is (?P<node>\S+) now, is not deleted`),
		meaning: "{former} is a Node of the snapshot, without a machine",
		do:      upAgain,
		safe:    goesOn,
	},
}
