package explain

// podNetwork contains the errors of the network plugins and the cluster's DNS.
var podNetwork = []row{
	{
		name: "no-cni", speaker: "the kubelet", source: "containerd pkg/cri; flannel-io/flannel#2039, kubernetes/kubernetes#71692",
		pattern: saying(`cni plugin not initialized|cni config uninitialized`),
		meaning: "the node has no network plugin yet, so that it is not ready: usual in the first minutes",
		do:      "kubectl get pods -n kube-system -o wide shows whether flannel or cilium runs there; with kubernetes.cni none you install one yourself",
		safe:    goesOn,
	},
	{
		name: "flannel-not-up", speaker: "flannel", source: "containernetworking/plugins; flannel-io/flannel#2253",
		pattern: saying(`loadFlannelSubnetEnv failed`),
		meaning: "flannel does not run on that node, so it has no subnet for pods",
		do:      "kubectl logs -n kube-system ds/kube-flannel says why; when it runs, the pods start by themselves",
		safe:    goesOn,
	},
	{
		name: "flannel-bridge", speaker: "flannel", source: "flannel-io/flannel main.go; siderolabs/talos#10430",
		pattern: saying(`Failed to check br_netfilter`),
		meaning: "the kernel has not loaded br_netfilter: usual where Talos runs in a container",
		do:      "modprobe br_netfilter on the machine that runs the container; in a VM, name br_netfilter in machine.kernel.modules of talos.patches, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "no-pod-subnet", speaker: "flannel", source: "flannel-io/flannel pkg/subnet/kube; flannel-io/flannel#1099",
		pattern: saying(`node "(?P<node>[^"]+)" pod cidr not assigned`),
		meaning: "the controller manager gave {node} no subnet: podSubnets is used up, or is not the one that flannel has",
		do:      "kubectl get nodes -o yaml shows spec.podCIDR; a /16 in kubernetes.podSubnets is enough for 256 nodes, and podSubnets is a fact of the cluster's birth",
		safe:    notTouched,
	},
	{
		name: "cilium-not-up", speaker: "Cilium", source: "cilium plugins/cilium-cni; cilium/cilium#40312",
		pattern: saying(`unable to connect to Cilium (?:agent|daemon)`),
		meaning: "Cilium's agent does not run on that node",
		do:      "kubectl logs -n kube-system ds/cilium says why; when it runs, the pods start by themselves",
		safe:    goesOn,
	},
	{
		name: "cilium-mount", speaker: "Cilium", source: "siderolabs/talos#5948",
		pattern: saying(`nsenter: failed to execute (?P<file>\S+): Permission denied`),
		meaning: "Cilium wants to mount cgroups with a program of its own on the node, and Talos executes none",
		do:      "use addons.cilium, whose values are those of Talos; for one of your own: cgroup.autoMount.enabled=false and cgroup.hostRoot=/sys/fs/cgroup",
		safe:    goesOn,
	},
	{
		name: "dns-loop", speaker: "CoreDNS", source: "coredns plugin/loop; siderolabs/talos#8303",
		pattern: saying(`plugin/loop: (?:Loop \(|Seen "|Forwarding loop)`),
		meaning: "a nameserver of the nodes asks the cluster's DNS again, so that queries go round",
		do:      "set network.nameservers to servers that are not on the node itself, nor behind this cluster, then " + upAgain,
		safe:    goesOn,
	},
}
