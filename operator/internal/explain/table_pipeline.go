package explain

// pipelines contains the errors of `em-infra ci`.
var pipelines = []row{
	{
		name: "ci-edited", speaker: program, source: "internal/pipeline/file.go",
		pattern: saying(`(?P<file>\S+em-infra-\S+\.yml) was edited, and is kept`),
		meaning: "{file} is not what ci init has written, so replacing it would lose those changes",
		do:      "compare it with what `em-infra ci init` writes into another clone; then add --overwrite, or leave the file as it is",
		safe:    notTouched,
	},
	{
		name: "ci-no-job", speaker: program, source: "internal/forge/job.go",
		pattern: saying(`no pipeline of GitHub, GitLab or Forgejo runs here`),
		meaning: "neither GITHUB_ACTIONS nor GITLAB_CI is set, so there is no change to write a comment on",
		do:      "run it in a job of the pipeline that `em-infra ci init` writes",
		safe:    notTouched,
	},
	{
		name: "ci-no-token", speaker: program, source: "internal/forge/job.go",
		pattern: saying(`(?P<variable>GITHUB_TOKEN|EM_INFRA_GITLAB_TOKEN) is empty`),
		meaning: "the job has no token that may write comments and issues; on GitLab, the job's own token may not",
		do:      "give the step the token of its job (GitHub, Forgejo), or make a project access token with the scope api (GitLab); docs/ci.md",
		safe:    notTouched,
	},
	{
		name: "ci-forge-refuses", speaker: "the forge", source: "internal/forge/client.go",
		pattern: saying(`(?:GET|POST|PUT|PATCH) /(?:repos|projects)/(?P<project>[^\s?]+?)/(?:issues|merge_requests)\S*: (?P<status>\d{3} [A-Z][A-Za-z ]+)`),
		meaning: "the forge answers {status}: the token may not read or write comments or issues of that project, or issues are switched off there",
		do:      "give the job the permissions that `em-infra ci init` writes (GitHub, Forgejo), or the token the scope api and the role Reporter (GitLab)",
		safe:    "yes: only the comment or the issue is missing",
	},
	{
		name: "ci-drift-unknown", speaker: program, source: "cmd/em-infra/ci_report.go",
		pattern: saying(`drift ended with exit code (?P<code>-?\d+), so it is not known whether there is any`),
		meaning: "the host or a node could not be read, so the issue stays as it is",
		do:      "read the log of `em-infra drift`, and mend what it names",
		safe:    notTouched,
	},
}
