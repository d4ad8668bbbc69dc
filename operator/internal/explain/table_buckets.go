package explain

// keepsLocal is the safety of what fails in the bucket of the backups.
const keepsLocal = "yes: the copy on this machine is kept, and the run has gone on"

// buckets contains the errors of the bucket with the backups. They quote answers of servers and networks, so they stand before those.
var buckets = []row{
	{
		name: "backup-bucket-absent", speaker: program, source: "internal/bucket/problem.go; S3 API reference, Error responses, NoSuchBucket",
		pattern: saying(`there is no bucket (?P<bucket>s3://\S+) \(`),
		meaning: "the server has no bucket of the name in backups.bucket, or it is another server than you think",
		do:      "create {bucket}, or correct backups.bucket in cluster.yaml: its name, and endpoint= for a server of your own; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-bucket-key", speaker: program, source: "internal/bucket/problem.go; S3 API reference, Error responses; aws-sdk-go-v2 config",
		pattern: saying(`there is no key for the bucket (?P<bucket>\S+):|the bucket (?P<bucket>\S+) (?:does not accept|refuses) the key \((?P<why>\w+)\)`),
		meaning: "{bucket} does not let you in: no key is set, it is another one, or it has too few rights",
		do:      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that may list, read, write and delete in the bucket; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-bucket-silent", speaker: program, source: "internal/bucket/problem.go; go net, crypto/tls",
		pattern: saying(`the bucket (?P<bucket>\S+) does not answer \(|the server of the bucket (?P<bucket>\S+) has a certificate that is not trusted here`),
		meaning: "no connection to the server of {bucket} comes about: another address, no network, or a certificate of an authority that this machine does not know",
		do:      "see endpoint= in backups.bucket and that this machine reaches it, and set AWS_CA_BUNDLE for an authority of your own; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-bucket-refused", speaker: program, source: "internal/bucket/problem.go; S3 API reference, Error responses; pulumi/pulumi#23525, pulumi/pulumi#24219",
		pattern: saying(`the URL of the bucket (?P<bucket>\S+) names no region|the bucket (?P<bucket>\S+) (?:is in another region|refuses the (?:checksum|time)|answers \w+ \(|cannot be used \()`),
		meaning: "the server of {bucket} answers, and does not accept the requests as they are",
		do:      "do what the end of the message says: region= in backups.bucket, request_checksum_calculation=when_required for servers that do not know the newer checksums, or the clock; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-folder-away", speaker: program, source: "internal/bucket/bucket.go, internal/bucket/problem.go",
		pattern: saying(`there is no folder (?P<folder>/\S+): mount it|the folder (?P<folder>file://\S+) (?:cannot be used|does not have the file)`),
		meaning: "the folder that backups.bucket names is not there, or nothing can be written to it: a share that is not mounted looks like this",
		do:      "mount it, or make room in it, as the user that runs em-infra; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-bucket-other", speaker: program, source: "internal/etcdsnapshot/remote.go, internal/bucket/problem.go",
		pattern: saying(`the bucket (?P<bucket>\S+) (?:has another snapshot|does not have the object)`),
		meaning: "another machine works with the same place in {bucket}: it has stored a snapshot of that name, or has deleted one by its rule",
		do:      "give each project a prefix of its own in backups.bucket, s3://BUCKET/PREFIX; for one project, see `em-infra etcd list` again",
		safe:    keepsLocal,
	},
}
