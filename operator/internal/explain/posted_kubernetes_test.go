package explain_test

var postedKubernetes = map[string][]string{
	"webhook-away": {
		`Error from server (InternalError): Internal error occurred: failed calling webhook "imageswap.example.net": failed to call webhook: Post "https://imageswap.imageswap-system.svc:443/?timeout=10s": context deadline exceeded`,
		`Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to call webhook: Post "https://cert-manager-webhook.cert-manager.svc:443/validate?timeout=30s": no endpoints available for service "cert-manager-webhook"`,
	},
	"kind-absent":           {`error: resource mapping not found for name: "x" namespace: "" from "STDIN": no matches for kind "ServiceMonitor" in version "monitoring.coreos.com/v1"`},
	"pod-security":          {`Error creating: pods "longhorn-manager-x7k2p" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes (volumes "boot", "dev", "proc", "etc", "longhorn"), privileged (container "longhorn-manager" must not set securityContext.privileged=true)`},
	"namespace-terminating": {`secrets "x" is forbidden: unable to create new content in namespace flux-system because it is being terminated`},
	"object-changed":        {`Operation cannot be fulfilled on deployments.apps "x": the object has been modified; please apply your changes to the latest version and try again`},
	"storage-class": {
		`StorageClass.storage.k8s.io "truenas-iscsi" is invalid: parameters: Forbidden: updates to parameters are forbidden.`,
		`StorageClass.storage.k8s.io "nfs" is invalid: [parameters: Forbidden: updates to parameters are forbidden., reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.]`,
		`StorageClass.storage.k8s.io "standard" is invalid: volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable`,
	},
	"immutable-field": {
		`Deployment.apps "x" is invalid: spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"x"}}: field is immutable`,
		`StatefulSet.apps "db" is invalid: spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template' are forbidden`,
	},
	"annotation-too-long":  {`The CustomResourceDefinition "x.example.net" is invalid: metadata.annotations: Too long: must have at most 262144 bytes`, `metadata.annotations: Too long: may not be more than 262144 bytes`},
	"no-service-account":   {`pods "x" is forbidden: error looking up service account default/default: serviceaccount "default" not found`},
	"kubectl-unauthorized": {`error: You must be logged in to the server (Unauthorized)`},
	"kubectl-unconfigured": {`The connection to the server localhost:8080 was refused - did you specify the right host or port?`},
	"kubectl-refused":      {`The connection to the server 192.168.20.10:6443 was refused - did you specify the right host or port?`},
	"foreign-kubernetes":   {`Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error" while trying to verify candidate authority certificate "kubernetes")`},
	"metrics-absent":       {`error: Metrics API not available`},
	"drain-refused": {
		`error: unable to drain node "worker-1" due to error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): kube-system/kube-flannel-x, continuing command...`,
		`cannot delete Pods with local storage (use --delete-emptydir-data to override): default/x`,
		`cannot delete Pods that declare no controller (use --force to override): default/y`,
	},
}

var postedPods = map[string][]string{
	"no-gpu-free":      {`0/6 nodes are available: 6 Insufficient nvidia.com/gpu. preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pod.`},
	"node-too-small":   {`0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.`},
	"node-affinity":    {`0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.`},
	"volume-unbound":   {`0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found`},
	"runtime-absent":   {`Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured`, `unable to get OCI runtime for sandbox "a5b1e58f": no runtime for "nvidia" is configured`},
	"disk-full":        {`The node was low on resource: ephemeral-storage. Threshold quantity: 10%, available: 4Gi. Container x was using 20Gi, request is 0, has larger consumption of ephemeral-storage.`},
	"nameservers-many": {`Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.1 192.0.2.2 192.0.2.3`},
	"kubelet-certificate-waits": {
		`Error from server: Get "https://192.0.2.234:10250/containerLogs/kube-system/kube-proxy-l2f9s/kube-proxy": remote error: tls: internal error`,
		`[talos] controller failed {"component": "controller-runtime", "controller": "k8s.KubeletStaticPodController", "error": "error refreshing pod status: error fetching pod status: Get \x5c"https://127.0.0.1:10250/pods/?timeout=30s\x5c": remote error: tls: internal error"}`,
	},
	"kubelet-certificate-own": {`E0511 21:57:06.607078       1 scraper.go:140] "Failed to scrape node" err="Get \"https://192.0.2.181:10250/metrics/resource\": x509: cannot validate certificate for 192.0.2.181 because it doesn't contain any IP SANs" node="worker-1"`},
	"kubelet-away":            {`Error from server: error dialing backend: dial tcp 192.168.20.21:10250: i/o timeout`},
	"capabilities":            {`Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: unable to apply caps: operation not permitted`},
	"read-only-root":          {`Error: failed to generate container "34eb1f60" spec: failed to apply OCI options: failed to mkdir "/usr/local/etc/iscsi": mkdir /usr/local/etc/iscsi: read-only file system`},
	"iscsi-absent": {
		"Failed in discovery of the target: chroot: can't execute '/usr/bin/env': No such file or directory",
		`Error starting manager: Failed environment check, please make sure you have iscsiadm/open-iscsi installed on the host`,
	},
	"iscsi-login": {`MountVolume.MountDevice failed for volume "pvc-7ed6610c" : rpc error: code = Internal desc = {"code":19,"stdout":"","stderr":"iscsiadm: initiator reported error (19 - encountered non-retryable iSCSI login failure)\niscsiadm: Could not log into all portals\n"}`},
	"nfs-refused": {`MountVolume.MountDevice failed for volume "pvc-e490d455" : rpc error: code = Internal desc = {"code":32,"stdout":"","stderr":"mount.nfs: access denied by server while mounting truenas.example.com:/mnt/ssdpool/csi/nfs/v/pvc-e490d455\n"}`},

	"no-cni": {
		`container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized`,
		`runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:docker: network plugin is not ready: cni config uninitialized`,
	},
	"flannel-not-up": {`Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "3c05350c": plugin type="flannel" failed (add): loadFlannelSubnetEnv failed: open /run/flannel/subnet.env: no such file or directory`},
	"flannel-bridge": {`2025-04-21T15:41:31.560757142Z stderr F E0421 15:41:31.560700       1 main.go:278] Failed to check br_netfilter: stat /proc/sys/net/bridge/bridge-nf-call-iptables: no such file or directory`},
	"no-pod-subnet":  {`Error registering network: failed to acquire lease: node "kubernetes-minion" pod cidr not assigned`},
	"cilium-not-up": {
		"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox \"0b2f8521\": plugin type=\"cilium-cni\" failed (add): unable to connect to Cilium agent: failed to create cilium agent client after 30.000000 seconds timeout: Get \"http://localhost/v1/config\": dial unix /var/run/cilium/cilium.sock: connect: no such file or directory\nIs the agent running?",
	},
	"cilium-mount": {`mount-cgroup nsenter: failed to execute /opt/cni/bin/cilium-mount: Permission denied`},
	"dns-loop": {
		`[FATAL] plugin/loop: Loop (127.0.0.1:35656 -> :53) detected for zone ".", see https://coredns.io/plugins/loop#troubleshooting. Query: "HINFO 1776841706389146686.271906425746229838."`,
		`[FATAL] plugin/loop: Seen "HINFO IN 2050421060481615995.5620656063561519376." more than twice, loop detected`,
	},
}

var postedGPU = map[string][]string{
	"nvml-absent": {
		`W0819 07:02:54.757556       1 rm.go:109] NVML not detected: could not load NVML library: libnvidia-ml.so.1: cannot open shared object file: No such file or directory`,
		`2022/05/13 23:09:23 Failed to initialize NVML: could not load NVML library.`,
	},
	"device-strategy": {
		"E0506 17:45:45.421956       1 factory.go:112] Incompatible strategy detected auto\nE0506 17:45:45.421965       1 factory.go:113] If this is a GPU node, did you configure the NVIDIA Container Toolkit?\nE0506 17:45:45.442750       1 main.go:173] error starting plugins: error getting plugins: unable to create plugins: failed to construct resource managers: invalid device discovery strategy",
	},
	"no-gpu-to-offer":   {`I0819 07:02:54.800000       1 main.go:416] No devices found. Waiting indefinitely.`},
	"driver-not-loaded": {`nvidia-container-cli: initialization error: nvml error: driver not loaded`},
	"driver-mismatch": {
		`nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown`,
		"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.195",
	},
	"gpu-versions": {
		"NVRM: API mismatch: the client 'nvidia-smi' (pid 2112)\nNVRM: has the version 570.195.03, but this kernel module has\nNVRM: the version 570.124.06.  Please make sure that this\nNVRM: kernel module and all NVIDIA driver components\nNVRM: have the same version.",
	},
	"gpu-init-failed": {`Feb 09 15:47:06 debian kernel: NVRM: GPU 0000:13:00.0: RmInitAdapter failed! (0x26:0x56:1463)`},
	"gpu-lost": {
		"[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0\n               NVRM: (PCI ID: 10de:26b5) installed in this system has\n               NVRM: fallen off the bus and is not responding to commands.",
		`NVRM: Xid (PCI:0000:44:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.`,
	},
	"gpu-no-memory-window": {
		"[83260.063553] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)\n[83260.063557] nvidia: probe of 0000:14:00.0 failed with error -1",
	},
	"gpu-other-driver": {
		"NVRM: The NVIDIA probe routine was not called for 1 device(s).\nNVRM: This can occur when another driver was loaded and \nNVRM: obtained ownership of the NVIDIA device(s).",
	},
	"gpu-none":     {`NVRM: No NVIDIA GPU found.`, `NVRM: No NVIDIA devices probed.`},
	"cuda-too-new": {`RuntimeError: CUDA error: CUDA driver version is insufficient for CUDA runtime version`},
}
