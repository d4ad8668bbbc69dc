package explain

// backend contains the engine's errors about the location and content of the state.
var backend = []row{
	{
		name: "no-login", speaker: pulumi, source: "pulumi pkg/v3 backend/backenderr; pulumi/pulumi#13293, pulumi/pulumi#3202",
		pattern: saying(`PULUMI_ACCESS_TOKEN must be set for login`),
		meaning: "a plain pulumi was not told where the state is, and asks Pulumi Cloud for it",
		do:      "use the shell of `em-infra tools env`, or export PULUMI_BACKEND_URL with the place that docs/state.md names",
		safe:    notTouched,
	},
	{
		name: "bucket-refused", speaker: "the bucket", source: "gocloud.dev/blob; pulumi/pulumi#13007, pulumi/pulumi#15136",
		pattern: saying(`blob \(key "\.pulumi/[^"]*"\) \(code=\w+\): (?P<why>(?:AccessDenied|NoCredentialProviders|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|NoSuchBucket)\b[^\n"]*)`),
		meaning: "the bucket with the state does not let you in ({why})",
		do:      "export AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of one who may read and write it, or correct its name in PULUMI_BACKEND_URL; then run the same command again",
		safe:    notTouched,
	},
	{
		name: "bucket-answer", speaker: "the bucket", source: "aws-sdk-go-v2; pulumi/pulumi#23525, pulumi/pulumi#24219",
		pattern: saying(`\(code=\w+\): operation error S3: (?P<operation>\w+), [^\n]*api error (?P<code>\w+): (?P<why>[^\n"]*)`),
		meaning: "the bucket with the state refuses a request of the engine, {operation} ({code}: {why})",
		do:      "run `em-infra preflight`, which tries the bucket and says in one sentence what to correct; then the same command again",
		safe:    "yes: what the engine did is in the state from before the last write, or is found on the host by the next run",
	},
	{
		name: "bucket-region", speaker: "the bucket", source: "aws-sdk-go; pulumi/pulumi#13899, pulumi/pulumi-aws#1170",
		pattern: saying(`MissingRegion: could not find region configuration`),
		meaning: "the URL of the bucket with the state names no region",
		do:      "export AWS_REGION=REGION, or add ?region=REGION to PULUMI_BACKEND_URL (us-east-1 for most servers of your own); then run the same command again",
		safe:    notTouched,
	},
	{
		name: "checkpoint-torn", speaker: pulumi, failure: "F35", source: "pulumi pkg/v3 backend/diy/state.go",
		pattern: saying(`failed to load checkpoint: (?P<why>EOF|unexpected EOF|unexpected end of JSON input|invalid character[^\n"]*)`),
		meaning: "the file of the state is cut off ({why}): a run was killed, or the disk was full, while it was written",
		do:      "`em-infra up`, which mends it where it can; else `em-infra state restore` takes the newest backup",
		safe:    "yes: what a backup does not know is found on the host and adopted",
	},
	{
		name: "state-integrity", speaker: pulumi, failure: "F35", source: "pulumi pkg/v3 backend/diy/state.go; pulumi/pulumi#19669, pulumi/pulumi#17607",
		pattern: saying(`snapshot integrity (?:failure|error)`),
		meaning: "the state contradicts itself: a resource names a provider or a parent that is not there",
		do:      "`em-infra state restore` takes the newest backup; then `em-infra preview` shows what it does not know",
		safe:    "yes: nothing but the state is touched",
	},
	{
		name: "state-newer", speaker: pulumi, source: "pulumi pkg/v3 resource/stack/deployment.go",
		pattern: saying(`the stack '(?P<stack>[^']+)' is newer than what this version of the Pulumi CLI understands`),
		meaning: "the state of {stack} was written by a newer Pulumi CLI than the one that reads it",
		do:      "use em-infra, which brings its own (`em-infra tools install`), in the newest version that anybody of you has used",
		safe:    notTouched,
	},
	{
		name: "secret-of-another", speaker: pulumi, source: "pulumi sdk/v3 go/common/resource/config/crypt.go; pulumi/pulumi#17457",
		pattern: saying(`cipher: message authentication failed`),
		meaning: "a secret in Pulumi.STACK.yaml was encrypted with another passphrase or another encryptionsalt than the file has now",
		do:      "bring the file's encryptionsalt back (git log -p Pulumi.STACK.yaml), or set the secret anew with `pulumi config set --stack STACK --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`",
		safe:    notTouched,
	},
	{
		name: "update-in-progress", speaker: "Pulumi Cloud", failure: "F35", source: "pulumi sdk/v3 go/auto/errors.go; pulumi/pulumi#2073",
		pattern: saying(`\[409\] Conflict: Another update is currently in progress`),
		meaning: "another run works on the stack, or one was killed and Pulumi Cloud still counts it",
		do:      "wait for the other run; when there is none, `pulumi cancel`, then " + upAgain,
		safe:    "yes, when the other run has ended",
	},
	{
		name: "no-stack", speaker: pulumi, source: "pulumi pkg/v3 backend/backenderr",
		pattern: saying(`no stack named '(?P<stack>[^']+)' found`),
		meaning: "there is no state of {stack} in that place: the name is another, or another backend is asked",
		do:      "see PULUMI_BACKEND_URL and the name after --stack; `em-infra up` makes a stack that is new",
		safe:    "no, if it should exist: a run with an empty state finds the machines, but look first where the state is",
	},
	{
		name: "no-project", speaker: pulumi, source: "pulumi pkg/v3 workspace; pulumi/pulumi#15136",
		pattern: saying(`no Pulumi\.yaml project file found`),
		meaning: "pulumi was run in another folder than the project's",
		do:      "cd into the folder with Pulumi.yaml and run it again, or use `em-infra up` there",
		safe:    notTouched,
	},
}

// programs contains the engine's errors about the program, its language and its plugins.
var programs = []row{
	{
		name: "lab-needs-linux", speaker: program, source: "internal/lab/system.go",
		pattern: saying(`the lab needs Linux, and this is (?P<system>\w+)`),
		meaning: "the emulated host locks files, uses addresses of 127.0.0.0/8 and ends its processes by means that {system} does not have",
		do:      "run the same command in WSL 2 (Windows), or in a container or a VM with Linux; `em-infra up` on a real host works on {system}",
		safe:    notTouched,
	},
	{
		name: "language-absent", speaker: pulumi, source: "pulumi sdk/v3 go/common/workspace; pulumi/pulumi#11228, pulumi/pulumi#1956",
		pattern: saying(`language plugin '(?:pulumi-language-)?(?P<language>\w+)'`),
		meaning: "the language host for {language} is not where pulumi looks: pulumi alone was installed, without what lies beside it",
		do:      "use the shell of `em-infra tools env`, or install the whole archive of the Pulumi CLI",
		safe:    notTouched,
	},
	{
		name: "plugin-version", speaker: pulumi, source: "pulumi pkg/v3 host/host.go; pulumi/pulumi-aws#1339",
		pattern: saying(`resource plugin (?P<plugin>\S+) is expected to have version >=(?P<wanted>[^\s,]+), but has`),
		meaning: "a pulumi-resource-{plugin} on your PATH is taken before the one that was asked for ({wanted})",
		do:      "remove it from your PATH (which -a pulumi-resource-{plugin} names it), then " + upAgain,
		safe:    "yes, but look at the preview: another version of a plugin may plan other changes",
	},
	{
		name: "plugin-crashed", speaker: pulumi, source: "google.golang.org/grpc; pulumi/pulumi-terraform-provider#58",
		pattern: saying(`code = Unavailable desc = error reading from server: EOF`),
		meaning: "a provider's process ended in the middle of its work: it crashed, as the lines after this one say, or was killed for want of memory",
		do:      upAgain + ", which finds what was begun; if it comes back, report the lines after this one to the provider's issues",
		safe:    "yes: what was begun is found and finished",
	},
	{
		name: "program-killed", speaker: pulumi, source: "pulumi/pulumi#10257",
		pattern: saying(`(?i)program exited with non-zero exit code: -1`),
		meaning: "your program was killed by a signal: this machine was short of memory while it compiled or ran",
		do:      "free memory (free -h, dmesg | grep -i oom), then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "program-absent", speaker: pulumi, source: "pulumi sdk/v3 go/common/util/executable; pulumi/pulumi#2571",
		pattern: saying(`unable to find (?:program: (?P<program>\S+)|'go' executable)`),
		meaning: "this machine has no Go compiler on its PATH, or the project names a binary that is not there",
		do:      "install Go in the version of go.mod and see that `go version` answers, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "config-absent", speaker: pulumi, source: "pulumi sdk/v3 go/pulumi/config/require.go",
		pattern: saying(`(?i)missing required configuration variable '(?P<key>[^']+)'`),
		meaning: "the stack's configuration has no {key}",
		do:      "pulumi config set --stack STACK {key} VALUE, with --secret for what nobody may read; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "duplicate-urn", speaker: pulumi, source: "pulumi pkg/v3 resource/deploy/step_generator.go",
		pattern: saying(`(?i)duplicate resource URN '(?P<urn>[^']+)'`),
		meaning: "your own program makes two resources of one type with one name: {urn}",
		do:      "give one of them another name, or another parent",
		safe:    notTouched,
	},
	{
		name: "cli-version", speaker: pulumi, source: "pulumi sdk/v3 go/common/resource/plugin/plugin.go, requirePulumiVersion",
		pattern: saying(`Pulumi CLI version (?P<has>\S+) does not satisfy the version range`),
		meaning: "the project asks for another version of the Pulumi CLI than {has}",
		do:      "use em-infra, which brings its own (`em-infra tools install`), or the shell of `em-infra tools env`",
		safe:    notTouched,
	},
}
