package explain

var engine = []row{
	{
		name: "state-locked", speaker: pulumi, failure: "F35", source: "pulumi pkg/v3 backend/diy/lock.go",
		pattern: saying(`the stack is currently locked by (?P<count>\d+) lock\(s\)`),
		meaning: "another run works on the stack, or one was killed",
		do:      "`em-infra up` removes the lock of a dead run by itself; `em-infra state unlock` says who holds it",
		safe:    "yes, when the other run has ended",
	},
	{
		name: "pending-operations", speaker: pulumi, failure: "F35", source: "pulumi pkg/v3 resource/deploy/deployment_executor.go",
		pattern: saying(`(?:Attempting to deploy or update resources with \d+ pending operations|These resources are in an unknown state because the Pulumi CLI was interrupted)`),
		meaning: "a run was killed while it made something",
		do:      "`em-infra up`, which looks on the host and settles each of them",
		safe:    goesOn,
	},
	{
		name: "passphrase-wrong", speaker: pulumi, source: "pulumi pkg/v3 secrets/passphrase/manager.go",
		pattern: saying(`incorrect passphrase`),
		meaning: "the passphrase is not that of the stack's secrets",
		do:      "export PULUMI_CONFIG_PASSPHRASE_FILE=FILE with the right one",
		safe:    notTouched,
	},
	{
		name: "passphrase-absent", speaker: pulumi, source: "pulumi pkg/v3 secrets/passphrase/manager.go; pulumi/pulumi#7001",
		pattern: saying("passphrase must be set with PULUMI_CONFIG_PASSPHRASE|unable to find either `PULUMI_CONFIG_PASSPHRASE`"),
		meaning: "the secrets of the stack cannot be read without its passphrase",
		do:      "export PULUMI_CONFIG_PASSPHRASE_FILE=FILE",
		safe:    notTouched,
	},
	{
		name: "protected", speaker: pulumi, source: "pulumi pkg/v3 resource/deploy/step.go, deleteProtectedError",
		pattern: saying(`resource "(?P<urn>[^"]+)" cannot be deleted`),
		meaning: "the stack or the node is protected, and the run would delete {urn}",
		do:      "if it may go: set protect to false in cluster.yaml or at the node, run `em-infra up`, then the same command again",
		safe:    "no, unless you mean to lose it: protection is there for what cannot be made again",
	},
	{
		name: "plugin-absent", speaker: pulumi, source: "pulumi sdk/v3 go/common/workspace/plugins.go",
		pattern: saying(`no resource plugin 'pulumi-resource-(?P<plugin>[\w-]+)' found in the workspace`),
		meaning: "the provider {plugin} is not installed",
		do:      "`em-infra tools install`, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "default-provider", speaker: pulumi, source: "pulumi sdk/v3 go/common/diag/errors.go",
		pattern: saying(`Default provider for '(?P<provider>[^']+)' disabled`),
		meaning: "a resource of your own program names no provider",
		do:      "give it pulumi.Providers of this stack, or a parent that has them",
		safe:    notTouched,
	},
	{
		name: "birth-fact", speaker: program, failure: "F1", source: "internal/birth/check.go",
		pattern: saying(`(?P<fact>contract|podSubnets|serviceSubnets|cni) \S.* cannot change, since the cluster was born with it`),
		meaning: "{fact} in cluster.yaml is another than the one that the cluster was bootstrapped with",
		do:      "set {fact} back; for a cluster with another one, `em-infra destroy`, then `em-infra up`",
		safe:    notTouched,
	},
	{
		name: "renamed-worker", speaker: program, failure: "F20", source: "internal/birth/check.go",
		pattern: saying(`(?P<node>\S+) has the (?:VMID|address) \S+ of (?P<former>\S+), and would be made while that one still stands`),
		meaning: "{node} is {former} under another name; a plain pulumi finds machines by their names only",
		do:      "`em-infra up`, which drains {former}, removes it and makes {node} in its place",
		safe:    notTouched,
	},
	{
		name: "inconsistent-plan", speaker: provider, failure: "F34", source: "terraform-provider-talos#352",
		pattern: saying(`Provider produced inconsistent final plan`),
		meaning: "the provider saw another value while it worked than in its plan",
		do:      upAgain + ": the value is known now",
		safe:    goesOn,
	},
}
