package inventory

// Addons are installed into the cluster once it runs. An addon that is not named is not installed, and one that is removed from
// the inventory is removed from the cluster.
type Addons struct {
	// Cilium is the network plugin, given exactly when kubernetes.cni is cilium. Default: none.
	Cilium *Cilium `yaml:"cilium"`
	// KubeletServingCertApprover signs the kubelets' serving certificates, which they then request from the cluster. A change
	// between none and some reconfigures every node, without a reboot. Default: none.
	KubeletServingCertApprover *KubeletServingCertApprover `yaml:"kubeletServingCertApprover"`
	// MetricsServer serves `kubectl top` and autoscalers. It needs kubeletServingCertApprover. Default: none.
	MetricsServer *MetricsServer `yaml:"metricsServer"`
	// Flux keeps the cluster in the state that a repository describes. Default: none.
	Flux *Flux `yaml:"flux"`
	// TrueNAS is the storage that the cluster's CSI driver uses. Default: none.
	TrueNAS *TrueNAS `yaml:"truenas"`
	// EtcdBackup takes snapshots of etcd from inside the cluster, also while the machine that runs em-infra is off. Default: none.
	EtcdBackup *EtcdBackup `yaml:"etcdBackup"`
	// GPU makes the GPUs of gpu-workers available to pods. Default: none.
	GPU *GPUSupport `yaml:"gpu"`
}

// Chart is where the Helm chart of an addon comes from.
type Chart struct {
	// Repository that holds the chart, without the chart's name: oci://…, https://… or http://…. At most one of repository and
	// path is given. Default: that of the chart's makers.
	Repository string `yaml:"repository"`
	// Path of a chart on this machine, a folder or a .tgz, relative to the folder of this file. It has a version of its own.
	// Default: none.
	Path string `yaml:"path"`
}

// Cilium is the network plugin.
type Cilium struct {
	// Version of the chart cilium. A change upgrades it. Default: 1.19.6.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: https://helm.cilium.io.
	Chart Chart `yaml:"chart"`
	// Values for the chart, merged over those that Talos needs. Default: none.
	Values Values `yaml:"values"`
	// KubeProxyReplacement lets Cilium replace kube-proxy, which Talos then does not install. Default: false.
	KubeProxyReplacement bool `yaml:"kubeProxyReplacement"`
	// ManageAfterBootstrap is false if Flux takes Cilium over: it is then installed once and never changed again, even if its
	// settings here change. Default: true.
	ManageAfterBootstrap bool `yaml:"manageAfterBootstrap" default:"true"`
}

// KubeletServingCertApprover is kubelet-csr-approver, which signs the requests of the nodes of this inventory.
type KubeletServingCertApprover struct {
	// Version of the chart kubelet-csr-approver. A change upgrades it. Default: 1.2.14.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: https://postfinance.github.io/kubelet-csr-approver.
	Chart Chart `yaml:"chart"`
	// Values for the chart, merged over those that name the nodes. Default: none.
	Values Values `yaml:"values"`
}

// MetricsServer is metrics-server.
type MetricsServer struct {
	// Version of the chart metrics-server. A change upgrades it. Default: 3.13.1.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: https://kubernetes-sigs.github.io/metrics-server.
	Chart Chart `yaml:"chart"`
	// Values for the chart. Default: none.
	Values Values `yaml:"values"`
}

// Flux is Flux v2, its source and the keys that it needs.
type Flux struct {
	// Version of the chart flux2, which differs from the version of Flux. A change upgrades it, CRDs included. Default: 2.18.3.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: oci://ghcr.io/fluxcd-community/charts.
	Chart Chart `yaml:"chart"`
	// Values for the chart. Default: none.
	Values Values `yaml:"values"`
	// GitRepository that holds the cluster's manifests. At most one of gitRepository and ociRepository is given. Default: none.
	GitRepository *GitRepository `yaml:"gitRepository"`
	// OCIRepository that holds the cluster's manifests. Default: none.
	OCIRepository *OCIRepository `yaml:"ociRepository"`
	// Kustomization is the part of the repository that is applied. Default: none; the repository is fetched and not applied.
	Kustomization *Kustomization `yaml:"kustomization"`
	// Decryption gives Flux the age key of secrets in the repository, as the Secret sops-age. Default: none.
	Decryption *Decryption `yaml:"decryption"`
}

// GitRepository is a repository that Flux fetches.
type GitRepository struct {
	// URL of the repository: https://… or ssh://…, without credentials. Required.
	URL string `yaml:"url" required:"true"`
	// Branch to follow. Default: main, where no tag is given.
	Branch string `yaml:"branch"`
	// Tag to stay at, instead of a branch. Default: none.
	Tag string `yaml:"tag"`
	// Interval between two fetches. Default: 1m.
	Interval Interval `yaml:"interval" default:"1m"`
	// SecretRef names the Secret with the credentials. It is made from secrets.sops.yaml or the stack's configuration: from git.identity and
	// git.knownHosts for ssh, from git.username and git.password for https. Required for ssh. Default: none.
	SecretRef string `yaml:"secretRef"`
}

// OCIRepository is an artifact that Flux fetches.
type OCIRepository struct {
	// URL of the artifact without its tag: oci://…. Required.
	URL string `yaml:"url" required:"true"`
	// Tag to follow. Default: latest.
	Tag string `yaml:"tag" default:"latest"`
	// Interval between two fetches. Default: 1m.
	Interval Interval `yaml:"interval" default:"1m"`
	// SecretRef names the Secret with the credentials, made from oci.dockerConfigJson of secrets.sops.yaml or the stack's
	// configuration. Default: none.
	SecretRef string `yaml:"secretRef"`
}

// Kustomization is what Flux applies of the repository.
type Kustomization struct {
	// Path in the repository. Default: ./, the whole of it.
	Path string `yaml:"path" default:"./"`
	// Interval between two reconciliations. Default: 10m.
	Interval Interval `yaml:"interval" default:"10m"`
	// Prune deletes objects that are removed from the repository. Objects that Flux applied stay when Flux itself is removed.
	// Default: true.
	Prune bool `yaml:"prune" default:"true"`
}

// Decryption is how Flux decrypts secrets that SOPS has encrypted.
type Decryption struct {
	// AgeKeyFile holds the age identity, as age-keygen writes it: a path relative to the folder of this file, or one that
	// begins with ~/. Default: the file that SOPS_AGE_KEY_FILE names.
	AgeKeyFile string `yaml:"ageKeyFile"`
}

// TrueNAS is a storage appliance. Its address and API key are passed to the cluster as the Secret truenas-api.
type TrueNAS struct {
	// Host is its DNS name or address. Required.
	Host string `yaml:"host" required:"true"`
	// Namespace of the Secret. It is created unless it is one of Kubernetes' own. Default: flux-system.
	Namespace string `yaml:"namespace" default:"flux-system"`
	// CSI is what truenas-csi needs in the cluster, TrueNAS' own CSI driver. It needs `storage` and TrueNAS 25.10. Default: none.
	CSI *TrueNASCSI `yaml:"csi"`
}

// EtcdBackup is a CronJob of talos-backup on the control planes, in the namespace etcd-backup. It stores snapshots of etcd in
// backups.bucket, beside those of em-infra, with the key etcdBackup.accessKeyId and etcdBackup.secretAccessKey of secrets.sops.yaml or the
// stack's configuration. A change between none and some reconfigures the control planes, without a reboot.
type EtcdBackup struct {
	// Schedule is when a snapshot is taken: the five fields of cron, in UTC. Default: 0 */6 * * *, every six hours.
	Schedule Schedule `yaml:"schedule" default:"0 */6 * * *"`
	// Recipient is the age key for which the snapshots are encrypted, age1…: talos-backup takes one. A change affects later snapshots
	// only. Default: that of backups.recipients, if there is one only.
	Recipient Recipient `yaml:"recipient"`
	// Image of talos-backup. An image in a registry of your own must be of the same release, since other releases have other settings. Default:
	// ghcr.io/siderolabs/talos-backup:v0.1.0-beta.3.
	Image string `yaml:"image" default:"ghcr.io/siderolabs/talos-backup:v0.1.0-beta.3"`
}

// GPUSupport lets pods request GPUs, and checks that every gpu-worker offers its own: up to Talos v1.12 by NVIDIA's device plugin and
// the RuntimeClass nvidia, from v1.13 on by NVIDIA's gpu-operator, which brings both.
type GPUSupport struct {
	// DevicePlugin of NVIDIA.
	DevicePlugin DevicePlugin `yaml:"devicePlugin"`
	// Operator of NVIDIA, from Talos v1.13 on.
	Operator GPUOperator `yaml:"operator"`
	// SmokeTest runs a pod with a GPU on each gpu-worker, once. Default: none.
	SmokeTest *SmokeTest `yaml:"smokeTest"`
}

// DevicePlugin registers the GPUs in Kubernetes. It runs on gpu-workers only. From Talos v1.13 on the operator installs it, and only
// timeSlicing is set here.
type DevicePlugin struct {
	// Version of the chart nvidia-device-plugin. A change upgrades it. Default: 0.19.3.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: https://nvidia.github.io/k8s-device-plugin.
	Chart Chart `yaml:"chart"`
	// Values for the chart, merged over those that keep it on gpu-workers. Default: none.
	Values Values `yaml:"values"`
	// TimeSlicing lets several pods share each GPU. Default: none, each pod has a GPU of its own.
	TimeSlicing *TimeSlicing `yaml:"timeSlicing"`
}

// GPUOperator is NVIDIA's gpu-operator, which offers GPUs by CDI. It installs neither driver nor container toolkit, since these are extensions of
// Talos.
type GPUOperator struct {
	// Version of the chart gpu-operator, at least v26.3.1. A change upgrades it. Default: v26.3.3.
	Version ChartVersion `yaml:"version"`
	// Chart is the source of the chart. Default: https://helm.ngc.nvidia.com/nvidia.
	Chart Chart `yaml:"chart"`
	// Values for the chart, merged over those that leave the driver to Talos. Default: none.
	Values Values `yaml:"values"`
}

// TimeSlicing shares GPUs in time slices. The memory of the pods is not isolated.
type TimeSlicing struct {
	// Replicas is how many pods share one GPU: the node offers that many for each GPU. Required.
	Replicas int `yaml:"replicas" required:"true" min:"2" max:"100"`
}

// SmokeTest is a pod that uses a GPU and ends.
type SmokeTest struct {
	// Image of the pod, whose own command must succeed if there is a GPU. Default:
	// nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0.
	Image string `yaml:"image" default:"nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0"`
}
