package stacks

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/nvidia"
)

// addonsOf returns the addons of the inventory with their keys; nil if there are none. The error is a [*inventory.Problems]
// about what only a run can check: keys, charts and URLs.
func addonsOf(ctx *pulumi.Context, inv *inventory.Inventory, options Options) (*components.ClusterAddonsArgs, error) {
	wanted := inv.Cluster.Addons
	if wanted == (inventory.Addons{}) {
		return nil, nil
	}
	m := &addonMapping{inv: inv, keys: newKeys(ctx, inv, options), workDir: options.WorkDir}
	args := &components.ClusterAddonsArgs{}
	if a := wanted.Cilium; a != nil {
		args.Cilium = &components.Cilium{Chart: m.chart(a.Chart, a.Version, a.Values, "cilium"), HandOver: !a.ManageAfterBootstrap}
	}
	if a := wanted.KubeletServingCertApprover; a != nil {
		chart := m.chart(a.Chart, a.Version, a.Values, "kubeletServingCertApprover")
		args.KubeletServingCertApprover = &chart
	}
	if a := wanted.MetricsServer; a != nil {
		chart := m.chart(a.Chart, a.Version, a.Values, "metricsServer")
		args.MetricsServer = &chart
	}
	if wanted.Flux != nil {
		args.Flux = m.flux(*wanted.Flux)
	}
	if a := wanted.TrueNAS; a != nil {
		args.TrueNAS = &components.TrueNAS{Host: a.Host, Namespace: a.Namespace, APIKey: m.keys.secret(truenasAPIKey, "addons", "truenas"), CSI: m.csi(*a)}
	}
	if wanted.EtcdBackup != nil {
		args.EtcdBackup = m.etcdBackup(*wanted.EtcdBackup, ctx.Stack())
	}
	if wanted.GPU != nil {
		args.GPU = m.gpuSupport(*wanted.GPU)
	}
	return args, append(m.problems, m.keys.problems...).OrNil()
}

// addonMapping turns addons into arguments and collects problems.
type addonMapping struct {
	inv      *inventory.Inventory
	keys     *keys
	workDir  string // of the engine; empty if it is not known
	problems inventory.Problems
}

func (m *addonMapping) chart(chart inventory.Chart, version inventory.ChartVersion, values inventory.Values, addon ...string) components.Chart {
	mapped := components.Chart{Repository: chart.Repository, Version: version.String()}
	mapped.Values, _ = values.Map() // the loader has read them already
	if chart.Path == "" {
		return mapped
	}
	mapped.Repository, mapped.Version = "", ""
	path, err := beside(m.inv, chart.Path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		m.problems = append(m.problems, m.inv.ClusterProblem(strictyaml.Fault{
			What: "is no chart on this machine", Rule: "it is looked for at " + path, Got: chart.Path, Do: "correct the path, or put the chart there with `helm pull`",
		}, append(append([]string{"addons"}, addon...), "chart", "path")...))
	}
	mapped.Path = path
	if _, fromHome := cutHome(chart.Path); !fromHome && !filepath.IsAbs(chart.Path) {
		mapped.Path = seenFrom(m.workDir, path)
	}
	return mapped
}

// seenFrom returns a path relative to the folder in which the engine starts its plugins (pulumi pkg/v3 v3.254.0, engine/deployment.go,
// ProjectInfoContext). A path that is part of a resource has to be the same on every machine. One outside of the folder stays absolute, since the
// meaning of .. depends on links. The ./ tells Helm that it is a path.
func seenFrom(workDir, path string) string {
	if workDir == "" {
		return path
	}
	for _, resolve := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} { // the folder may be known by a link to it
		from, err := resolve(workDir)
		if err != nil {
			return path
		}
		to, err := resolve(path)
		if err != nil {
			return path
		}
		if relative, err := filepath.Rel(from, to); err == nil && filepath.IsLocal(relative) {
			return "./" + filepath.ToSlash(relative)
		}
	}
	return path
}

// beside resolves a path in the inventory: relative to the inventory's folder, or to the home folder if it begins with ~/. The
// result is absolute.
func beside(inv *inventory.Inventory, path string) (string, error) {
	if rest, fromHome := cutHome(path); fromHome {
		home, err := os.UserHomeDir()
		return filepath.Join(home, rest), err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(inv.Dir, path)
	}
	return filepath.Abs(path)
}

func cutHome(path string) (rest string, fromHome bool) {
	if len(path) < 2 || path[:2] != "~/" {
		return path, false
	}
	return path[2:], true
}

func (m *addonMapping) flux(flux inventory.Flux) *components.Flux {
	mapped := &components.Flux{Chart: m.chart(flux.Chart, flux.Version, flux.Values, "flux")}
	if git := flux.GitRepository; git != nil {
		location := m.url(git.URL)
		mapped.Git = &components.GitSource{URL: location, Branch: git.Branch, Tag: git.Tag, Interval: git.Interval.Duration()}
		if git.SecretRef != "" {
			mapped.Git.Credentials = &components.Credentials{SecretName: git.SecretRef, Data: m.gitCredentials(location)}
		}
	}
	if oci := flux.OCIRepository; oci != nil {
		mapped.OCI = &components.OCISource{URL: m.url(oci.URL), Tag: oci.Tag, Interval: oci.Interval.Duration()}
		if oci.SecretRef != "" {
			mapped.OCI.Credentials = &components.Credentials{
				SecretName: oci.SecretRef, Type: "kubernetes.io/dockerconfigjson",
				Data: map[string]pulumi.StringInput{".dockerconfigjson": m.keys.secret(dockerConfig, "addons", "flux", "ociRepository")},
			}
		}
	}
	if k := flux.Kustomization; k != nil {
		mapped.Kustomization = &components.Kustomization{Path: k.Path, Interval: k.Interval.Duration(), Prune: k.Prune}
	}
	if flux.Decryption != nil {
		mapped.AgeKey = m.keys.age(*flux.Decryption)
	}
	return mapped
}

// csi maps what the CSI driver finds in the cluster; nil without one.
func (m *addonMapping) csi(truenas inventory.TrueNAS) *components.TrueNASCSI {
	csi, storage := truenas.CSI, m.inv.Cluster.Storage
	if csi == nil {
		return nil
	}
	mapped := &components.TrueNASCSI{
		URL: storage.APIURL(), SkipVerify: csi.SkipVerify, Pool: storage.Pool, NFSServer: truenas.Host, ISCSIPortal: storage.ISCSIPortal(truenas.Host),
		IQNBase: csi.IQNBase,
	}
	for _, class := range csi.StorageClasses {
		mapped.Classes = append(mapped.Classes, components.StorageClass{
			Name: class.Name, Protocol: string(class.Protocol), Default: class.Default, ReclaimPolicy: string(class.ReclaimPolicy),
			Compression: string(class.Compression), Networks: class.Networks, Initiators: initiatorsOf(class, *storage), Parameters: class.Parameters,
		})
	}
	if csi.HasChart() {
		chart := m.chart(csi.Chart, csi.Version, csi.Values, "truenas", "csi")
		mapped.Chart = &chart
	}
	return mapped
}

// initiatorsOf returns who may log in to the volumes of a class: the driver makes a group of its own for each volume.
func initiatorsOf(class inventory.StorageClass, storage inventory.Storage) []string {
	if class.Protocol != inventory.ProtocolISCSI || storage.ISCSI == nil {
		return nil
	}
	return storage.ISCSI.Initiators
}

// gitCredentials have the keys that Flux documents for a GitRepository's secretRef.
func (m *addonMapping) gitCredentials(location *url.URL) map[string]pulumi.StringInput {
	at := []string{"flux", "gitRepository"}
	if location.Scheme == "ssh" {
		return map[string]pulumi.StringInput{"identity": m.keys.secret(gitIdentity, "addons", at...), "known_hosts": m.keys.secret(gitKnownHosts, "addons", at...)}
	}
	return map[string]pulumi.StringInput{"username": m.keys.secret(gitUsername, "addons", at...), "password": m.keys.secret(gitPassword, "addons", at...)}
}

// url parses a URL that the loader has checked.
func (m *addonMapping) url(text string) *url.URL {
	location, _ := url.Parse(text)
	return location
}

func (m *addonMapping) gpuSupport(gpu inventory.GPUSupport) *components.GPUSupport {
	plugin, operator := gpu.DevicePlugin, gpu.Operator
	mapped := &components.GPUSupport{}
	if nvidia.ByOperator(m.inv.Cluster.Talos.Version.String()) {
		chart := m.chart(operator.Chart, operator.Version, operator.Values, "gpu", "operator")
		mapped.Operator = &chart
	} else {
		mapped.DevicePlugin = m.chart(plugin.Chart, plugin.Version, plugin.Values, "gpu", "devicePlugin")
	}
	if plugin.TimeSlicing != nil {
		mapped.SharesPerGPU = plugin.TimeSlicing.Replicas
	}
	if gpu.SmokeTest != nil {
		mapped.SmokeTestImage = gpu.SmokeTest.Image
	}
	return mapped
}
