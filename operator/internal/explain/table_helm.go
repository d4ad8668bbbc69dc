package explain

// releases contains the errors of Helm about charts, their repositories and their releases.
var releases = []row{
	{
		name: "release-not-ready", speaker: helm, source: "pulumi-kubernetes provider/pkg/provider/helm_release.go; pulumi/pulumi-kubernetes#2921, pulumi/pulumi-kubernetes#4389",
		pattern: saying(`failed to become available within allocated timeout|Helm release "(?P<release>[^"]+)" failed: context deadline exceeded`),
		meaning: "the chart is installed, and its pods did not become ready in time",
		do:      "kubectl get pods -A and kubectl describe pod say what they wait for (often an image or a node); mend that, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "release-foreign-object", speaker: helm, source: "helm v3 pkg/action/validate.go; databus23/helm-diff#404",
		pattern: saying(`(?P<object>[A-Z]\w+ "[^"]+" in namespace "[^"]*") exists and cannot be imported into the current release`),
		meaning: "{object} is there already, made by something else than this release",
		do:      "delete it, if nothing needs it as it is, or take the addon out of cluster.yaml and leave it to who made it (for Cilium: manageAfterBootstrap false); then " + upAgain,
		safe:    "no, if it holds data or traffic: what is deleted is gone until the chart makes its own",
	},
	{
		name: "release-never-deployed", speaker: helm, source: "helm v3 pkg/storage/driver/driver.go",
		pattern: saying(`"(?P<release>[^"]+)" has no deployed releases`),
		meaning: "the first installation of {release} failed, so there is nothing to upgrade",
		do:      "helm uninstall {release} -n NAMESPACE, then " + upAgain,
		safe:    "yes: it was never deployed",
	},
	{
		name: "chart-repository", speaker: helm, source: "helm v3 pkg/repo/chartrepo.go",
		pattern: saying(`looks like "(?P<repository>[^"]+)" is not a valid chart repository or cannot be reached`),
		meaning: "this machine does not get {repository}/index.yaml",
		do:      "try curl -I {repository}/index.yaml here; without internet, download the chart and name its path in the addon's chart; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "chart-absent", speaker: helm, source: "helm v3 pkg/repo/chartrepo.go, FindChartInRepoURL",
		pattern: saying(`chart "(?P<chart>[^"]+)"(?: (?:matching|version) "?(?P<version>[^\s"]+)"?)? not found in (?P<repository>\S+)`),
		meaning: "{repository} has no chart {chart} of that version",
		do:      "correct version in the addon of cluster.yaml: it is the chart's, not the program's; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "chart-values", speaker: helm, source: "helm v3 pkg/chartutil/values.go",
		pattern: saying(`values don't meet the specifications of the schema\(s\)`),
		meaning: "values of an addon have a key or a type that the chart's own schema refuses",
		do:      "the lines after this one name the key; correct values of the addon in cluster.yaml, then " + upAgain,
		safe:    notTouched,
	},
}
