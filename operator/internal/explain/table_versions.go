package explain

// versionRules contains the refusals of versions of Talos and Kubernetes.
var versionRules = []row{
	{
		name: "talos-downgrade", speaker: program, source: "internal/versions/step.go",
		pattern: saying(`Talos (?P<runs>v\S+) → (?P<wanted>v\S+) is a downgrade`),
		meaning: "Talos {runs} runs, and the inventory asks for the older {wanted}; no release promises to read what a newer one has written",
		do:      "set talos.version to {runs} or later; where the last upgrade came from {wanted}, `em-infra node rollback` returns one node to it, and the inventory may then stay",
		safe:    notTouched,
	},
	{
		name: "kubernetes-downgrade", speaker: program, source: "internal/versions/step.go",
		pattern: saying(`Kubernetes (?P<runs>v\S+) → (?P<wanted>v\S+) is a downgrade`),
		meaning: "Kubernetes {runs} runs, and the inventory asks for the older {wanted}; its API server may not read objects that a newer one has stored",
		do:      "set kubernetes.version to {runs} or later",
		safe:    notTouched,
	},
	{
		name: "minor-skipped", speaker: program, source: "siderolabs/docs, upgrading-talos; kubernetes.io, version skew policy",
		pattern: saying(`(?P<what>Talos|Kubernetes) (?P<runs>v\S+) → (?P<wanted>v\S+) skips (?P<minors>v\d+\.\d+(?:, v\d+\.\d+)*)`),
		meaning: "{what} goes from one minor release to the next one only, and {minors} would be left out on the way from {runs} to {wanted}",
		do:      "go the way in the message, with `em-infra up` after each step; `em-infra versions` shows it again. Where the installer takes such a step of Talos, `em-infra up --allow-version-skip` does",
		safe:    notTouched,
	},
	{
		name: "patch-left-out", speaker: program, source: "siderolabs/docs, upgrading-talos, Supported upgrade paths",
		pattern: saying(`Talos (?P<runs>v\S+) → (?P<wanted>v\S+) leaves out (?P<latest>v\S+), the latest of`),
		meaning: "the step from {runs} into the minor release of {wanted} is tested from the latest patch release only, which is {latest}",
		do:      "set talos.version to {latest} and run `em-infra up`, then to {wanted}; `em-infra up --allow-version-skip` goes at once",
		safe:    notTouched,
	},
	{
		name: "kubernetes-before-talos", speaker: program, source: "talos pkg/machinery/compatibility; internal/versions/step.go",
		pattern: saying(`Kubernetes (?P<wanted>v\S+) is too (?P<way>old|new) for the Talos that runs`),
		meaning: "Kubernetes is changed before Talos, and {wanted} is too {way} for the Talos that runs now",
		do:      "go the way in the message, with `em-infra up` after each step; `em-infra versions` shows it again",
		safe:    notTouched,
	},
	{
		name: "minor-unknown", speaker: program, source: "internal/versions/releases.go",
		pattern: saying(`talos\.version: is a Talos that is too (?P<way>old|new) \(em-infra knows (?P<known>v\S+ to v[^;)]+)`),
		meaning: "this em-infra knows Talos {known}, and the one in the inventory is too {way}",
		do:      "set talos.version to a release of {known}, or use a newer em-infra; `em-infra versions` lists what this one knows",
		safe:    notTouched,
	},
	{
		name: "kubernetes-unfit", speaker: program, source: "talos pkg/machinery/compatibility/kubernetes_version.go",
		pattern: saying(`kubernetes\.version: is a Kubernetes that is too (?P<way>old|new) for Talos (?P<talos>v\S+) \(it supports (?P<fits>v\S+ to v[^;)]+)`),
		meaning: "Talos {talos} supports Kubernetes {fits}, and the one in the inventory is too {way}",
		do:      "set kubernetes.version to a release of {fits}; `em-infra versions` shows what goes together",
		safe:    notTouched,
	},
	{
		name: "no-way", speaker: program, source: "internal/versions/way.go",
		pattern: saying(`no way leads from Talos (?P<from>v\S+?)(?: with Kubernetes \S+)? to Talos (?P<to>v[^\s:]+)`),
		meaning: "no sequence of supported upgrades leads from Talos {from} to {to} with the versions of Kubernetes in the inventory",
		do:      "choose versions that are newer than what runs and go together: `em-infra versions` lists them",
		safe:    notTouched,
	},
}
