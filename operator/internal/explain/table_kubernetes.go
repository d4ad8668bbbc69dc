package explain

var kubernetes = []row{
	{
		name: "cluster-away", speaker: "the Kubernetes provider", failure: "F26", source: "pulumi-kubernetes provider/pkg/provider/provider.go",
		pattern: saying(`configured Kubernetes cluster is unreachable: (?P<why>[^\n]+)`),
		meaning: "the cluster's API does not answer, or does not take the kubeconfig ({why})",
		do:      "`em-infra status`; start its control planes, then run the same command again",
		safe:    goesOn,
	},
	{
		name: "disruption-budget", speaker: cluster, failure: "F32", source: "kubernetes pkg/registry/core/pod/storage/eviction.go",
		pattern: saying(`Cannot evict pod as it would violate the pod's disruption budget`),
		meaning: "the node cannot be emptied: a PodDisruptionBudget needs a pod that runs there",
		do:      "give the workload another replica, or make its budget smaller; kubectl get pdb -A shows it; then run the same command again",
		safe:    "yes: the node still works, and takes pods again after kubectl uncordon",
	},
	{
		name: "cloud-provider-taint", speaker: cluster, failure: "F39", source: "kubernetes pkg/scheduler/framework/plugins/tainttoleration, until 1.34",
		pattern: saying(`untolerated taint \{node\.cloudprovider\.kubernetes\.io/uninitialized: true\}`),
		meaning: "the nodes wait for a cloud controller manager that is not there",
		do:      "install the one that a patch asks for, or remove cluster.externalCloudProvider from talos.patches; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "taints", speaker: cluster, failure: "F39", source: "kubernetes pkg/scheduler/framework/plugins/tainttoleration, since 1.35",
		pattern: saying(`node\(s\) had untolerated taint\(s\)`),
		meaning: "no node is left whose taints the pod tolerates",
		do:      "kubectl describe node shows them: taints of nodes.yaml, of control planes, or of a cloud provider whose controller is not there",
		safe:    notTouched,
	},
	{
		name: "field-conflict", speaker: cluster, source: "k8s.io/apimachinery, server-side apply; pulumi-kubernetes",
		pattern: saying(`Apply failed with \d+ conflicts?: conflicts? with "(?P<manager>[^"]+)"`),
		meaning: "{manager} has set the same fields",
		do:      "let one of the two own the object: remove it there, or annotate it with pulumi.com/patchForce",
		safe:    notTouched,
	},
	{
		name: "release-pending", speaker: helm, source: "helm v3 pkg/action/action.go",
		pattern: saying(`another operation \(install/upgrade/rollback\) is in progress`),
		meaning: "a run was killed while Helm worked; its release is still marked so",
		do:      "helm history NAME -n NAMESPACE, then helm rollback NAME -n NAMESPACE (or helm uninstall for a first one); then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "release-exists", speaker: helm, source: "helm v3 pkg/action/install.go",
		pattern: saying(`cannot re-use a name that is still in use`),
		meaning: "the release is there, and the state does not know it",
		do:      upAgain + ", which makes way for one that an interrupted run left; one of your own: helm uninstall it, or give it up here",
		safe:    notTouched,
	},
	{
		name: "api-refuses-kubeconfig", speaker: cluster, failure: "F33", source: "k8s.io/client-go",
		pattern: saying(`the server has asked for the client to provide credentials`),
		meaning: "the kubeconfig is too old, or of another cluster",
		do:      "`em-infra up` writes a new one",
		safe:    notTouched,
	},
}
