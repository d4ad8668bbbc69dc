package explain

// talosSystem contains the errors of a node on its console and in talosctl dmesg.
var talosSystem = []row{
	{
		name: "etcd-waits", speaker: talos, failure: "F6", source: "talos internal/app/machined/pkg/system/services/etcd.go; siderolabs/talos#5942",
		pattern: saying(`etcd is waiting to join the cluster, if this node is the first node`),
		meaning: "the control plane finds no etcd to join: the cluster is not bootstrapped yet, or the others do not answer",
		do:      "`em-infra up`, which bootstraps the first control plane once and adopts one that is",
		safe:    "yes, with em-infra: never run talosctl bootstrap on a second node",
	},
	{
		name: "time-server-away", speaker: talos, source: "talos internal/pkg/ntp/ntp.go; siderolabs/talos#5274",
		pattern: saying(`time query error`),
		meaning: "the node does not hear from its time server, and starts neither etcd nor kubelet before it does",
		do:      "set network.timeServers to one that the node reaches (UDP 123), for instance the gateway, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-disk-matches", speaker: talos, source: "talos v1alpha1_sequencer_tasks.go, Install; siderolabs/talos#10315",
		pattern: saying(`no disks matched the expression: (?P<expression>[^\n]+)`),
		meaning: "none of the machine's disks fits {expression}",
		do:      "talosctl -n ADDRESS get disks --insecure shows what there is; correct install.diskSelector in talos.patches, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "no-install-disk", speaker: talos, source: "siderolabs/talos#9647",
		pattern: saying(`specified install disk does not exist: (?P<disk>\S+)`),
		meaning: "the machine has no disk {disk}",
		do:      "remove machine.install.disk from talos.patches, since em-infra names the disk itself, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "no-system-disk", speaker: talos, source: "siderolabs/talos#11097, siderolabs/omni-infra-provider-proxmox#45",
		pattern: saying(`no system disk found|SystemDisks\.block\.talos\.dev\(runtime/system-disk@undefined\) doesn't exist`),
		meaning: "Talos does not see its disk: it is not installed, or the disk's controller is one that it does not find it on",
		do:      "set proxmox.scsiController to virtio-scsi-pci in cluster.yaml, then " + upAgain,
		safe:    "yes: a disk that is not seen is not written to",
	},
	{
		name: "module-key", speaker: talos, failure: "F38", source: "siderolabs/talos#7174, siderolabs/extensions#227",
		pattern: saying(`(?i)(?:key was rejected by service|loading of module with unavailable key is rejected)`),
		meaning: "a kernel module was built for another kernel than the node's: its extension is of another Talos release, or your own",
		do:      "name the official extension in talos.schematic.extensions, whose image is made for talos.version; `em-infra up` then upgrades the node to it",
		safe:    "yes: the node runs without that module",
	},
	{
		name: "registry-away", speaker: "the node", failure: "F17", source: "containerd, remotes/docker; siderolabs/talos#1901, siderolabs/talos#10751, siderolabs/talos#11219",
		pattern: saying(`failed to do request: (?:Head|Get) "?https?://(?P<registry>[^/"\s]+)[^\n]*(?:i/o timeout|no such host|server misbehaving|TLS handshake timeout|connect: connection refused|connection reset by peer|no route to host|network is unreachable|context deadline exceeded)`),
		meaning: "the node does not reach the registry {registry}: DNS, gateway, firewall or MTU stands between, or the registry is slow",
		do:      "see network.nameservers, network.gateway and network.mtu; the node tries again by itself, or " + upAgain,
		safe:    goesOn,
	},
	{
		name: "registry-certificate", speaker: "the node", failure: "F17", source: "containerd, remotes/docker; crypto/x509",
		pattern: saying(`failed to do request: (?:Head|Get) "?https://(?P<registry>[^/"\s]+)[^\n]*: x509: (?P<why>[^\n]+)`),
		meaning: "the node does not trust {registry} ({why}): a proxy or a registry of your own, or the node's clock is wrong",
		do:      "add its authority as a TrustedRootsConfig document to talos.patches, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "registry-limit", speaker: "the registry", failure: "F17", source: "Docker Hub; namespacelabs/foundation#846",
		pattern: saying(`toomanyrequests: `),
		meaning: "the registry has counted too many pulls from your address",
		do:      "wait some hours, or name a mirror or an account in machine.registries of talos.patches; the node tries again by itself",
		safe:    goesOn,
	},
	{
		name: "local-api-away", speaker: talos, source: "talos internal/app/machined/pkg/controllers/k8s; siderolabs/talos#7977",
		pattern: saying(`https://(?:localhost|127\.0\.0\.1):(?:6443|7445)/[^\n]*(?:connect: connection refused|EOF)`),
		meaning: "the API server does not answer the node's own calls: it is starting, etcd is not up, or its pod fails",
		do:      "`em-infra status`; if etcd is up, talosctl -n ADDRESS logs -k kube-system/kube-apiserver says why, else talosctl -n ADDRESS service etcd",
		safe:    "yes: the node tries again by itself, and it is usual for minutes after a start",
	},
}
