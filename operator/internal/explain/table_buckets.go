package explain

// Texts of several rows.
const (
	// keepsLocal is the safety of what fails in the bucket of the backups.
	keepsLocal = "yes: the copy on this machine is kept, and the run has gone on"
	// keepsBucket is the safety of what fails in a bucket.
	keepsBucket = "yes: a backup is kept on this machine too, and a run does not begin without its state"
	// bucketAgain completes what is to be done about a bucket.
	bucketAgain = "; then `em-infra preflight` tries the one of the state, and `em-infra etcd snapshot` the one of the backups"
)

// buckets contains the errors of the buckets with the state and with the backups. They quote answers of servers and networks, so they stand
// before those.
var buckets = []row{
	{
		name: "bucket-absent", speaker: program, source: "internal/bucket/refusal.go; S3 API reference, Error responses, NoSuchBucket",
		pattern: saying(`there is no bucket (?P<bucket>s3://\S+) \(`),
		meaning: "the server has no bucket of that name, or it is another server than you think",
		do:      "create {bucket}, or correct its URL, in em-infra:backend of the stack's file, or backend.url of Pulumi.yaml, for the state and in backups.bucket of cluster.yaml for backups" + bucketAgain,
		safe:    keepsBucket,
	},
	{
		name: "bucket-key", speaker: program, source: "internal/bucket/problem.go, internal/bucket/refusal.go; S3 API reference, Error responses; aws-sdk-go-v2 config",
		pattern: saying(`there is no key for the bucket (?P<bucket>\S+):|the bucket (?P<bucket>\S+) (?:does not accept|refuses) the key \((?P<why>\w+)`),
		meaning: "{bucket} does not let you in: no key is set, it is another one, or it has too few rights",
		do:      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that may list, read, write and delete in the bucket" + bucketAgain,
		safe:    keepsBucket,
	},
	{
		name: "bucket-silent", speaker: program, source: "internal/bucket/problem.go; go net, crypto/tls",
		pattern: saying(`the bucket (?P<bucket>\S+) does not answer \(|the server of the bucket (?P<bucket>\S+) has a certificate that is not trusted here`),
		meaning: "no connection to the server of {bucket} comes about: another address, no network, or a certificate of an authority that this machine does not know",
		do:      "see endpoint= in its URL and that this machine reaches it, and set AWS_CA_BUNDLE to the file of an authority of your own" + bucketAgain,
		safe:    keepsBucket,
	},
	{
		name: "bucket-port", speaker: program, source: "internal/bucket/problem.go, internal/bucket/refusal.go; minio/object-browser#2637, minio/mc#4523; go net/http",
		pattern: saying(`what answers for the bucket (?P<bucket>\S+) is no S3 server|the server of the bucket (?P<bucket>\S+) speaks HTTP where`),
		meaning: "the endpoint of {bucket} is a web console, a proxy, or a port with the other of HTTP and HTTPS",
		do:      "correct scheme and port of endpoint= in its URL: of MinIO the API has port 9000 and the console 9001" + bucketAgain,
		safe:    keepsBucket,
	},
	{
		name: "bucket-checksums", speaker: program, source: "internal/bucket/probe.go; google/go-cloud#3735, pulumi/pulumi#23525, pulumi/pulumi#24219",
		pattern: saying(`the bucket (?P<bucket>\S+) refuses the (?:checksums of its URL|checksums that the Pulumi CLI \S+ sends)`),
		meaning: "the server of {bucket} does not know the checksums that newer clients send with each object, or wants them",
		do:      "copy the URL of the message into the stack's file (em-infra:backend); a CLI older than 3.258 sends checksums in any case, so put a newer pulumi on PATH if the message says so" + bucketAgain,
		safe:    notTouched,
	},
	{
		name: "bucket-odd", speaker: program, source: "internal/bucket/probe.go; pulumi pkg/v3 backend/diy/lock.go",
		pattern: saying(`the bucket (?P<bucket>\S+) (?:returns other bytes|does not return what|does not list what)`),
		meaning: "the server of {bucket} does not show at once what was stored, so that a lock would not keep two runs apart, or changes it",
		do:      "keep the state with another server, or on another storage of this one: a cache or a replica between them does this",
		safe:    notTouched,
	},
	{
		name: "bucket-request", speaker: program, source: "internal/bucket/refusal.go; S3 API reference, Error responses; pulumi/pulumi#23525, pulumi/pulumi#24219",
		pattern: saying(`the URL of the bucket (?P<bucket>\S+) names no region|the bucket (?P<bucket>\S+) (?:is in another region|refuses the (?:checksum of|time)|answers \w+ \(|cannot be used \()`),
		meaning: "the server of {bucket} answers, and does not accept the requests as they are",
		do:      "do what the end of the message says: region= in its URL, request_checksum_calculation=when_required for servers that do not know the newer checksums, or the clock" + bucketAgain,
		safe:    keepsBucket,
	},
	{
		name: "backup-folder-away", speaker: program, source: "internal/bucket/bucket.go, internal/bucket/problem.go",
		pattern: saying(`there is no folder (?P<folder>/\S+): mount it|the folder (?P<folder>file://\S+) (?:cannot be used|does not have the file)`),
		meaning: "the folder that backups.bucket names is not there, or nothing can be written to it: a share that is not mounted looks like this",
		do:      "mount it, or make room in it, as the user that runs em-infra; then `em-infra etcd snapshot`",
		safe:    keepsLocal,
	},
	{
		name: "backup-bucket-other", speaker: program, source: "stacks/etcd_snapshots.go, internal/bucket/problem.go",
		pattern: saying(`the bucket (?P<bucket>\S+) (?:has another snapshot|does not have the object)`),
		meaning: "another machine works with the same place in {bucket}: it has stored a snapshot of that name, or has deleted one by its rule",
		do:      "give each project a prefix of its own in backups.bucket, s3://BUCKET/PREFIX; for one project, see `em-infra etcd list` again",
		safe:    keepsLocal,
	},
}
