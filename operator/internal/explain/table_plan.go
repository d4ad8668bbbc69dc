package explain

// plans contains the refusals of `em-infra up --plan`.
var plans = []row{
	{
		name: "plan-differs", speaker: program, source: "operator/plan.go",
		pattern: saying(`the plan is (?P<now>[0-9a-f]{16}) by now, and not (?P<reviewed>[0-9a-f]{16})`),
		meaning: "inventory, host or nodes have changed since the preview that showed {reviewed}, so up would do something else than what was reviewed",
		do:      "read `em-infra preview` again; if the new plan is right, give --plan the new fingerprint",
		safe:    notTouched,
	},
	{
		name: "plan-carried-out", speaker: program, source: "operator/plan.go",
		pattern: saying(`the plan (?P<reviewed>[0-9a-f]{16}) is carried out; what is in the cluster is no part of it`),
		meaning: "the Kubernetes API did not answer when the preview and this run began, so nothing in the cluster was planned; now it answers, and there is something to do",
		do:      "read `em-infra preview`, then run up with the fingerprint that it shows",
		safe:    goesOn,
	},
	{
		name: "plan-of-a-part", speaker: program, source: "operator/phases.go",
		pattern: saying(`--plan excludes --until, --only and --only-node`),
		meaning: "a preview plans all phases of all nodes; a part of them is another plan, which no preview has shown",
		do:      "leave --until, --only and --only-node out, or leave --plan out",
		safe:    notTouched,
	},
}
