package explain

// storesLater is the safety of a run of addons.etcdBackup that fails.
const storesLater = "yes: the cluster runs, and the next snapshot is taken by the schedule; those in the bucket are untouched"

// clusterBackups contains the errors of the pods of addons.etcdBackup, and those of Talos about the account that they use. They quote servers and
// nodes, so they stand before the errors of those.
var clusterBackups = []row{
	{
		name: "talos-account-refused", speaker: talos, source: "siderolabs/talos kubeaccess/serviceaccount/crd_controller.go; siderolabs/talos-backup#55",
		pattern: saying(`Secret already exists and is not managed by controller: (?P<secret>[^\s,]+)`),
		meaning: "the Secret {secret} exists and was not made by Talos, so Talos does not write its certificate into it",
		do:      "delete that Secret: Talos makes it again within a minute",
		safe:    storesLater,
	},
	{
		name: "talos-account-not-allowed", speaker: talos, source: "siderolabs/talos kubeaccess/serviceaccount/crd_controller.go",
		pattern: saying(`Namespace is not allowed: \S+|Roles not allowed: \[`),
		meaning: "the control planes do not let pods of that namespace ask the Talos API, or not with these roles",
		do:      "for the namespace etcd-backup: see that addons.etcdBackup is in cluster.yaml and talos.patches do not set kubernetesTalosAPIAccess, then " + upAgain,
		safe:    storesLater,
	},
	{
		name: "cluster-backup-not-taken", speaker: "talos-backup", source: "siderolabs/talos-backup v0.1.0-beta.3 cmd/talos-backup; siderolabs/talos-backup#27, siderolabs/talos-backup#46",
		pattern: saying(`failed to take etcd snapshot:|failed to get talosconfig:|failed to create talos client:`),
		meaning: "a pod of addons.etcdBackup gets no snapshot from the Talos API of the control planes",
		do:      "see `em-infra status`; if all is well there, a network policy of the CNI keeps pods from port 50000 of the nodes; kubectl -n etcd-backup create job --from=cronjob/etcd-backup second tries it at once",
		safe:    storesLater,
	},
	{
		name: "cluster-backup-not-stored", speaker: "talos-backup", source: "siderolabs/talos-backup v0.1.0-beta.3 cmd/talos-backup/service, pkg/s3",
		pattern: saying(`failed to push (?:encrypted )?snapshot:`),
		meaning: "a pod of addons.etcdBackup has a snapshot and cannot store it: the end of the message is the answer of the bucket's server",
		do:      "see that etcdBackup.accessKeyId and etcdBackup.secretAccessKey are a key that may write in backups.bucket, and that nodes reach its endpoint; then " + upAgain,
		safe:    storesLater,
	},
}
