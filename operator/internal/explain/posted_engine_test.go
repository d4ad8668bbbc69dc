package explain_test

var postedEngine = map[string][]string{
	"no-login": {`error: PULUMI_ACCESS_TOKEN must be set for login during non-interactive CLI sessions`},
	"bucket-refused": {
		"error: read \".pulumi\\\\meta.yaml\": blob (key \".pulumi/meta.yaml\") (code=Unknown): AccessDenied: Access Denied\n        status code: 403, request id: 1",
		"error: read \".pulumi/meta.yaml\": blob (key \".pulumi/meta.yaml\") (code=Unknown): NoCredentialProviders: no valid providers in chain. Deprecated.\n\tFor verbose messaging see aws.Config.CredentialsChainVerboseErrors",
	},
	"bucket-region": {
		`error: read ".pulumi\\meta.yaml": blob (key ".pulumi/meta.yaml") (code=Unknown): MissingRegion: could not find region configuration`,
		`error: failed to load checkpoint: blob (key ".pulumi/stacks/prod.json") (code=Unknown): MissingRegion: could not find region configuration`,
	},
	"checkpoint-torn": {`error: failed to load checkpoint: EOF`, `error: failed to load checkpoint: unexpected end of JSON input`},
	"state-integrity": {
		"error: The Pulumi CLI encountered a snapshot integrity error. This is a bug!\n\nYou can try to repair your snapshot as follows:\n\n* Using the `pulumi state repair` command. This is the recommended approach.\n  Run `pulumi state repair --help` for more information.",
		`error: snapshot integrity failure; refusing to use it: resource urn:pulumi:k3s-dev::em-infra::x::y refers to unknown provider z`,
	},
	"state-newer":       {`error: the stack 'k3s-dev' is newer than what this version of the Pulumi CLI understands. Please update your version of the Pulumi CLI`},
	"secret-of-another": {`error: could not decrypt configuration value: : cipher: message authentication failed`, `error: error decrypting secret value: cipher: message authentication failed`},
	"update-in-progress": {
		"error: [409] Conflict: Another update is currently in progress.\nTo learn more about possible reasons and resolution, visit https://www.pulumi.com/docs/troubleshooting/#conflict",
	},
	"no-stack":   {`error: no stack named 'dev' found`},
	"no-project": {"warning: Failed to read project: no Pulumi.yaml project file found (searching upwards from /tmp/x). If you have not created a project yet, use `pulumi new` to do so: no project file found"},

	"language-absent": {
		"error: failed to load language plugin go: Could not automatically download and install language plugin 'pulumi-language-go', install the plugin using `pulumi plugin install language go`.\nUnderlying error: 404 HTTP error fetching plugin from https://api.github.com/repos/pulumi/pulumi-go/releases/latest. If this is a private GitHub repository, try providing a token via the GITHUB_TOKEN environment variable.",
		`error: failed to load language plugin nodejs: no language plugin 'nodejs' found in the workspace or on your $PATH`,
	},
	"plugin-version": {
		`warning: resource plugin aws is expected to have version >=3.26.1, but has 3.25.1; the wrong version may be on your path, or this may be a bug in the plugin`,
		`warning: resource plugin random is expected to have version >=2.0.0-beta.4, but has ; the wrong version may be on your path, or this may be a bug in the plugin`,
	},
	"plugin-crashed": {
		"  proxmox:index:VirtualEnvironmentVm (simple-vm-via-pulumi):\n    error: rpc error: code = Unavailable desc = error reading from server: EOF:\n\n    Stack trace from the terraform-provider-proxmox_v0.69.1 plugin:\n\n    panic: runtime error: invalid memory address or nil pointer dereference",
	},
	"program-killed": {`error: an unhandled error occurred: Program exited with non-zero exit code: -1`},
	"program-absent": {
		"    error: problem executing program (could not run language executor): unable to find program: az-go-test",
		`error: failed to discover plugin requirements: unable to find 'go' executable: unable to find program: go`,
	},
	"config-absent": {"error: Missing required configuration variable 'em-infra:proxmoxToken'\n\tplease set a value using the command `pulumi config set em-infra:proxmoxToken <value>`"},
	"duplicate-urn": {`error: Duplicate resource URN 'urn:pulumi:test::test::pkgA:m:typA::resA'; try giving it a unique name`},
	"cli-version":   {`error: Pulumi CLI version 3.137.0 does not satisfy the version range ">=3.200.0"`},

	"release-not-ready": {
		"    warning: Helm release \"ingresscontroller-1927c9a5\" was created but has a failed status. Use the `helm` command to investigate the error, correct it, then retry. Reason: timed out waiting for the condition\n    error: 1 error occurred:\n    \t* Helm release \"nginx-ingress/ingresscontroller-1927c9a5\" was created, but failed to initialize completely. Use Helm CLI to investigate.: failed to become available within allocated timeout. Error: Helm Release nginx-ingress/ingresscontroller-1927c9a5: timed out waiting for the condition",
		"error: 1 error occurred:\n  * Helm release \"cilium\" failed: context deadline exceeded",
	},
	"release-foreign-object": {
		`Error: rendered manifests contain a resource that already exists. Unable to continue with install: ServiceAccount "cilium" in namespace "kube-system" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key "app.kubernetes.io/managed-by": must be set to "Helm"; annotation validation error: missing key "meta.helm.sh/release-name": must be set to "cilium"`,
	},
	"release-never-deployed": {`Error: UPGRADE FAILED: "metrics-server" has no deployed releases`},
	"chart-repository":       {`Error: looks like "https://helm.cilium.io" is not a valid chart repository or cannot be reached: Get "https://helm.cilium.io/index.yaml": dial tcp: lookup helm.cilium.io: no such host`},
	"chart-absent":           {`Error: chart "nginx1" version "0.1.0" not found in https://charts.example.net repository`, `chart "nginx1" not found in https://charts.example.net repository`},
	"chart-values":           {"Error: values don't meet the specifications of the schema(s) in the following chart(s):\ncilium:\n- at '/hubble': additional properties 'x' not allowed"},

	"sops-no-key": {
		"Kustomization/secrets.flux-system - Reconciliation failed after 67.047568ms, next try in 1m0s decryption failed for 'basic-auth': failed to decrypt and format 'flux-system/basic-auth' Secret data: cannot get sops data key: Failed to get the data key required to decrypt the SOPS file.\n\nGroup 0: FAILED\n  age1examplexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: FAILED\n    - | failed to load age identities: failed to open file: open\n      | /.config/sops/age/keys.txt: no such file or directory\n\nRecovery failed because no master key was able to decrypt the file.",
		"Failed to get the data key required to decrypt the SOPS file.\n\nGroup 0: FAILED\n    - | failed to create reader for decrypting sops data key with\n      | age: no identity matched any of the recipients.",
	},
	"sops-not-configured": {`Kustomization/flux-system.flux-system - Reconciliation failed after 345.707826ms, next try in 10m0s Secret/podinfo/mysecret is SOPS encrypted, configuring decryption is required for this secret to be reconciled`},
	"flux-path":           {`kustomization path not found: stat /tmp/kustomization-878691743/clusters/staging: no such file or directory`},
	"git-host-key": {
		`failed to checkout and determine revision: unable to clone 'ssh://git@git.example.net/repo': ssh: handshake failed: knownhosts: key mismatch`,
		`unable to clone 'ssh://git@git.example.net/repo', error: ssh: handshake failed: knownhosts: key is unknown`,
	},
	"git-key-refused": {`failed to checkout and determine revision: unable to clone 'ssh://git@git.example.net/org/repo': ssh: handshake failed: ssh: unable to authenticate, attempted methods [none publickey], no supported methods remain`},
	"git-away":        {`failed to checkout and determine revision: unable to clone 'ssh://git@git.example.net/org/repo': ssh: handshake failed: read tcp 192.0.2.11:45906->198.51.100.4:22: read: connection timed out`},
	"flux-dependency": {`{"level":"error","ts":"2021-04-01T12:36:27.224Z","logger":"controller.kustomization","msg":"Dependencies do not meet ready condition, retrying in 30s","name":"kube-apiserver","namespace":"flux-system","error":"dependency 'flux-system/keycloak' is not ready"}`},
	"flux-retries":    {`HelmRelease/apps.redis - reconciliation failed: install retries exhausted`, `upgrade retries exhausted`},
}
