package components

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ClusterAddonsArgs describe the addons of a cluster. An addon that is nil is not installed.
type ClusterAddonsArgs struct {
	// Cluster that the addons are installed into. Required. For another cluster, another set of addons is created.
	Cluster *TalosCluster
	// Cilium is the network plugin of a cluster that was made with CNICilium. Default: nil.
	Cilium *Cilium
	// KubeletServingCertApprover approves what kubelets ask for with KubeletServingCertificates. Default: nil.
	KubeletServingCertApprover *Chart
	// MetricsServer is metrics-server. Default: nil.
	MetricsServer *Chart
	// Flux is Flux v2. Default: nil.
	Flux *Flux
	// TrueNAS passes the address and key of a storage to workloads. Default: nil.
	TrueNAS *TrueNAS
	// EtcdBackup takes snapshots of etcd on a schedule. It needs a cluster with EtcdBackupNamespace as its SnapshotNamespace. Default:
	// nil.
	EtcdBackup *EtcdBackup
	// GPU makes the GPUs of the cluster's GpuWorkers available to pods. Default: nil.
	GPU *GPUSupport
}

// Chart is the Helm chart of an addon; the addon determines its name. A change of any field upgrades the release.
type Chart struct {
	// Repository that holds the chart: https://…, http://…, or oci://… without the chart's name. Exactly one of Repository and
	// Path is given.
	Repository string
	// Version of the chart in the repository, exact. Required with a Repository.
	Version string
	// Path of a chart's folder or archive on this machine: absolute, or, to be the same on every machine, relative to the folder with
	// Pulumi.yaml and beginning with ./.
	Path string
	// Values for the chart, merged over those of the addon: mappings, lists, strings, numbers and booleans. Default: none.
	Values map[string]any
}

// Cilium is the network plugin.
type Cilium struct {
	// Chart is cilium. Required.
	Chart Chart
	// HandOver leaves the release to Flux once it is installed: this program no longer changes or removes it (F30). Default:
	// false.
	HandOver bool
}

// Flux is Flux v2 with its source and keys, in the namespace flux-system.
type Flux struct {
	// Chart is flux2. Required.
	Chart Chart
	// Git is the source in a Git repository. At most one of Git and OCI is given. Default: nil.
	Git *GitSource
	// OCI is the source in a registry. Default: nil.
	OCI *OCISource
	// Kustomization is the part of the source that is applied. Default: nil, nothing.
	Kustomization *Kustomization
	// AgeKey is the age identity that Flux decrypts with; it becomes the Secret sops-age. A change is made in place.
	// Default: nil, none. Secret.
	AgeKey pulumi.StringInput
}

// GitSource is a Git repository that Flux fetches. Changes are made in place.
type GitSource struct {
	// URL without credentials. Required.
	URL *url.URL
	// Branch to follow. Exactly one of Branch and Tag is given.
	Branch string
	// Tag to stay at.
	Tag string
	// Interval between two fetches. Required.
	Interval time.Duration
	// Credentials for it. Default: nil, none are needed.
	Credentials *Credentials
}

// OCISource is an artifact in a registry that Flux fetches. Changes are made in place.
type OCISource struct {
	// URL of the artifact without its tag. Required.
	URL *url.URL
	// Tag to follow. Required.
	Tag string
	// Interval between two fetches. Required.
	Interval time.Duration
	// Credentials for it. Default: nil, none are needed.
	Credentials *Credentials
}

// Credentials are a Secret that a source refers to. A change of the data is made in place.
type Credentials struct {
	// SecretName of the Secret. Required.
	SecretName string
	// Type of the Secret. Default: Opaque.
	Type string
	// Data by the keys that Flux documents for the source: identity and known_hosts, username and password,
	// .dockerconfigjson. Required, secret.
	Data map[string]pulumi.StringInput
}

// Kustomization is what Flux applies. Changes are made in place.
type Kustomization struct {
	// Path in the source. Required.
	Path string
	// Interval between two reconciliations. Required.
	Interval time.Duration
	// Prune deletes objects that are removed from the source. Default: false.
	Prune bool
}

// GPUSupport lets pods request the GPUs of the cluster's machines.
type GPUSupport struct {
	// DevicePlugin is nvidia-device-plugin, for Talos up to v1.12. Required without Operator.
	DevicePlugin Chart
	// Operator is gpu-operator, for Talos from v1.13 on, which installs the device plugin itself. Default: nil, DevicePlugin. Change
	// from the one to the other by a run without GPUSupport: both have objects of the same names.
	Operator *Chart
	// SharesPerGPU is how many pods share each GPU in time slices; 0 or 1 means one pod for each GPU.
	SharesPerGPU int
	// SmokeTestImage is the image of a pod that runs once on each machine with GPUs and uses one. Default: none.
	SmokeTestImage string
}

// complete returns a copy, or an error that lists every problem.
func (args *ClusterAddonsArgs) complete() (ClusterAddonsArgs, error) {
	if args == nil {
		return ClusterAddonsArgs{}, errors.New("args: give ClusterAddonsArgs")
	}
	if args.Cluster == nil {
		return ClusterAddonsArgs{}, errors.New("Cluster: give the TalosCluster")
	}
	problems := []error{
		require(args.Cluster.args.Until.Reaches(PhaseBootstrap), "Cluster", "its Until ends before PhaseBootstrap, so nothing can be installed in it: give both in a later phase"),
		require((args.Cilium != nil) == (args.Cluster.args.CNI == CNICilium), "Cilium", "give it exactly when the cluster's CNI is CNICilium"),
	}
	for _, part := range args.charts() {
		problems = append(problems, part.chart.validate(part.argument))
	}
	if args.Flux != nil {
		problems = append(problems, args.Flux.validate(), args.requireOwnSecret())
	}
	if args.TrueNAS != nil {
		problems = append(problems, args.TrueNAS.validate())
	}
	if args.EtcdBackup != nil {
		problems = append(problems, args.EtcdBackup.validate(args.Cluster.args))
	}
	if args.GPU != nil {
		problems = append(problems, require(args.GPU.SmokeTestImage == "" || imageReference.MatchString(args.GPU.SmokeTestImage),
			"GPU.SmokeTestImage", "give a reference like registry.example/name:tag"))
	}
	return *args, errors.Join(problems...)
}

// imageReference matches references without a character that is special in a shell.
var imageReference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)

// addonChart is a chart and the argument that names it.
type addonChart struct {
	argument string
	chart    Chart
}

func (args *ClusterAddonsArgs) charts() []addonChart {
	var charts []addonChart
	add := func(argument string, chart *Chart) {
		if chart != nil {
			charts = append(charts, addonChart{argument, *chart})
		}
	}
	if args.Cilium != nil {
		add("Cilium.Chart", &args.Cilium.Chart)
	}
	add("KubeletServingCertApprover", args.KubeletServingCertApprover)
	add("MetricsServer", args.MetricsServer)
	if args.Flux != nil {
		add("Flux.Chart", &args.Flux.Chart)
	}
	if args.TrueNAS != nil && args.TrueNAS.CSI != nil {
		add("TrueNAS.CSI.Chart", args.TrueNAS.CSI.Chart)
	}
	if args.GPU != nil {
		if args.GPU.Operator != nil {
			add("GPU.Operator", args.GPU.Operator)
		} else {
			add("GPU.DevicePlugin", &args.GPU.DevicePlugin)
		}
	}
	return charts
}

func (c Chart) validate(argument string) error {
	return errors.Join(
		require((c.Repository == "") != (c.Path == ""), argument, "give exactly one of Repository and Path"),
		require(c.Path == "" || filepath.IsAbs(c.Path) || strings.HasPrefix(c.Path, "./"), argument+".Path",
			fmt.Sprintf("%q could be a repository's chart for Helm: give an absolute path, or one that begins with ./", c.Path)),
		require(c.Repository == "" || c.Version != "", argument+".Version", "give the exact version"))
}

func (f Flux) validate() error {
	problems := []error{
		require(f.Git == nil || f.OCI == nil, "Flux", "give at most one of Git and OCI"),
		require(f.Kustomization == nil || f.Git != nil || f.OCI != nil, "Flux.Kustomization", "give it a source: Git or OCI"),
	}
	if f.Git != nil {
		problems = append(problems,
			require(f.Git.URL != nil, "Flux.Git.URL", "give the URL of the repository"),
			requireNoCredentials(f.Git.URL, "Flux.Git.URL"),
			require((f.Git.Branch == "") != (f.Git.Tag == ""), "Flux.Git", "give exactly one of Branch and Tag"),
			require(f.Git.Interval > 0, "Flux.Git.Interval", "give the time between two fetches"))
	}
	if f.OCI != nil {
		problems = append(problems,
			require(f.OCI.URL != nil, "Flux.OCI.URL", "give the URL of the artifact"),
			requireNoCredentials(f.OCI.URL, "Flux.OCI.URL"),
			require(f.OCI.Tag != "", "Flux.OCI.Tag", "give the tag to follow"),
			require(f.OCI.Interval > 0, "Flux.OCI.Interval", "give the time between two fetches"))
	}
	if f.Kustomization != nil {
		problems = append(problems, require(f.Kustomization.Interval > 0, "Flux.Kustomization.Interval", "give the time between two reconciliations"))
	}
	return errors.Join(problems...)
}

func (args ClusterAddonsArgs) summary() pulumi.Map {
	var names []string
	for _, part := range args.charts() {
		version := part.chart.Version
		if version == "" {
			version = part.chart.Path
		}
		names = append(names, fmt.Sprintf("%s %s", part.argument, version))
	}
	slices.Sort(names)
	return pulumi.Map{
		"cluster": pulumi.String(args.Cluster.args.ClusterName),
		"charts":  pulumi.String(strings.Join(names, ", ")),
	}
}
