package explain

// talosAPI are what talosctl, and whoever else talks to the nodes, is told.
var talosAPI = []row{
	{
		name: "certificate-names", speaker: "the connection to Talos or Kubernetes", source: "crypto/x509, HostnameError; siderolabs/talos#11099, siderolabs/talos#11105",
		pattern: saying(`x509: certificate is valid for [^\n]*, not (?P<asked>[^\s"\\)]+)`),
		meaning: "who answers there is not called {asked}: the address was written otherwise than the certificate has it, or is another machine's",
		do:      "use the talosconfig and kubeconfig that `em-infra up` writes; further names belong into machine.certSANs and cluster.apiServer.certSANs of talos.patches",
		safe:    notTouched,
	},
	{
		name: "certificate-required", speaker: talos, source: "crypto/tls alert.go, alertCertificateRequired",
		pattern: saying(`remote error: tls: certificate required`),
		meaning: "the node has its configuration already and is out of maintenance mode, so --insecure does not work any more",
		do:      "leave --insecure out and name the administrator's file: talosctl --talosconfig FILE",
		safe:    notTouched,
	},
	{
		name: "handshake-slow", speaker: "the connection to Talos", failure: "F8", source: "google.golang.org/grpc; siderolabs/talos#7604",
		pattern: saying(`transport: authentication handshake failed: context deadline exceeded`),
		meaning: "something takes the connection and does not go on: the node is starting, is short of CPU, or packets of full size are lost on the way",
		do:      "wait a minute; if it stays so, compare network.mtu with the bridge's and the VLAN's, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-nodes", speaker: "talosctl", source: "talos cmd/talosctl/pkg/talos/global/factory.go",
		pattern: saying(`nodes are not set for the command: please use`),
		meaning: "talosctl was not told which node is meant",
		do:      "add -n ADDRESS; `em-infra status` lists the addresses",
		safe:    notTouched,
	},
	{
		name: "no-endpoints", speaker: "talosctl", source: "talos pkg/machinery/client/client.go; siderolabs/talos#10697",
		pattern: saying(`error constructing client: failed to determine endpoints|^failed to determine endpoints`),
		meaning: "talosctl reads a talosconfig that names no endpoint: another file than the cluster's",
		do:      "talosctl --talosconfig FILE with the one that `em-infra up` writes, or export TALOSCONFIG=FILE",
		safe:    notTouched,
	},
	{
		name: "talosconfig-empty", speaker: "talosctl", source: "siderolabs/talos#2956",
		pattern: saying(`failed to resolve configuration context(?:: talos config file is empty)?`),
		meaning: "talosctl has read no context: the file is empty, or is not the cluster's",
		do:      "talosctl --talosconfig FILE with the one that `em-infra up` writes, or export TALOSCONFIG=FILE",
		safe:    notTouched,
	},
	{
		name: "no-forwarding", speaker: talos, source: "talos internal/app/apid/pkg/director/director.go",
		pattern: saying(`code = PermissionDenied desc = no request forwarding`),
		meaning: "the endpoint is a worker, and only control planes pass a request on to other nodes",
		do:      "talosctl -e CONTROL-PLANE -n NODE; `em-infra status` lists their addresses",
		safe:    notTouched,
	},
	{
		name: "talos-busy", speaker: talos, source: "talos internal/app/lifecycle/lifecycle.go; v1alpha1_server.go, ApplyConfiguration",
		pattern: saying(`another (?P<what>installation/upgrade|apply configuration) is already in progress`),
		meaning: "the node still works on an earlier request ({what}), of this run's or of somebody else's",
		do:      "wait until talosctl -n ADDRESS dmesg is quiet, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "not-installed", speaker: talos, failure: "F7", source: "talos v1alpha1_server.go, Rollback and Upgrade; internal/app/lifecycle/lifecycle.go",
		pattern: saying(`code = FailedPrecondition desc = (?:Talos is not installed|machine is not installed|system disk not found)`),
		meaning: "the node runs from its ISO: its installation has not happened, or has failed",
		do:      "talosctl -n ADDRESS dmesg says why; mend that, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "set-twice", speaker: talos, failure: "F29", source: "mirceanton/talstomize#15; talos machinery config/container",
		pattern: saying(`(?P<key>\.[\w.]+) is already set in v1alpha1 config`),
		meaning: "{key} stands in the main document and in a document of its own kind",
		do:      "remove one of the two from talos.patches or the node's patches, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "config-yaml", speaker: talos, source: "siderolabs/talos#12577, siderolabs/talos#9000",
		pattern: saying(`decode error: yaml: (?P<where>[^\n"]+)`),
		meaning: "a file is not YAML ({where}): a patch, or the talosconfig itself, which was edited by hand",
		do:      "`em-infra validate` names the patch; a talosconfig is written anew by `em-infra up`",
		safe:    notTouched,
	},
	{
		name: "files-outside-var", speaker: talos, source: "siderolabs/talos#5132",
		pattern: saying(`create operation not allowed outside of /var`),
		meaning: "a patch writes a file or mounts a folder where Talos is read-only",
		do:      "give it a path below /var in talos.patches, then " + upAgain,
		safe:    "yes: the node stays on what it has, and waits for a sound configuration",
	},
}
