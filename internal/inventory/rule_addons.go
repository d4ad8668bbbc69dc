package inventory

import (
	"regexp"

	"github.com/em-infra/em-infra/internal/hostname"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/nvidia"
)

// addons checks each addon, and that the addons fit the cluster and each other.
func (c *checker) addons() {
	addons, at := c.inv.Cluster.Addons, key("addons")
	c.cilium(addons.Cilium, at.Key("cilium"))
	if approver := addons.KubeletServingCertApprover; approver != nil {
		c.chart(approver.Chart, at.Key("kubeletServingCertApprover"))
	}
	if addons.MetricsServer != nil {
		c.chart(addons.MetricsServer.Chart, at.Key("metricsServer"))
		c.ordinaryPods(addons.MetricsServer.Values, at.Key("metricsServer"))
		if addons.KubeletServingCertApprover == nil {
			c.cluster(at.Key("metricsServer"), fault{
				What: "cannot trust the kubelets", Rule: "their serving certificates are signed by nobody it knows",
				Do: "add addons.kubeletServingCertApprover: {}",
			})
		}
	}
	if addons.Flux != nil {
		c.flux(*addons.Flux, at.Key("flux"))
	}
	if addons.TrueNAS != nil {
		c.truenas(*addons.TrueNAS, at.Key("truenas"))
	}
	if addons.EtcdBackup != nil {
		c.etcdBackup(*addons.EtcdBackup, at.Key("etcdBackup"))
	}
	if addons.GPU != nil {
		c.gpuSupport(*addons.GPU, at.Key("gpu"))
	}
}

// imageReference is the form of a container image, loosely; it has no character that is special in a shell.
var imageReference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)

func (c *checker) gpuSupport(gpu GPUSupport, at *strictyaml.Path) {
	c.gpuRecipe(gpu, at)
	if test := gpu.SmokeTest; test != nil {
		c.image(test.Image, at.Key("smokeTest").Key("image"))
	}
}

// image checks the form of a reference; an empty one was reported before.
func (c *checker) image(reference string, at *strictyaml.Path) {
	if reference != "" && !imageReference.MatchString(reference) {
		c.cluster(at, fault{What: "is not the reference of an image", Got: reference, Do: "write one like registry.example/name:tag"})
	}
}

// gpuRecipe checks the chart that offers GPUs with the inventory's version of Talos, and refuses settings of the other chart.
func (c *checker) gpuRecipe(gpu GPUSupport, at *strictyaml.Path) {
	talos, plugin, operator := c.inv.Cluster.Talos.Version.String(), at.Key("devicePlugin"), at.Key("operator")
	refused, do := []*strictyaml.Path{operator}, "remove it, or set addons.gpu.devicePlugin"
	rule := "up to Talos v1.12 the device plugin alone offers GPUs"
	if nvidia.ByOperator(talos) {
		c.chart(gpu.Operator.Chart, operator)
		refused, do = []*strictyaml.Path{plugin.Key("version"), plugin.Key("chart"), plugin.Key("values")}, "remove it, or set addons.gpu.operator"
		rule = "from Talos v1.13 on gpu-operator installs the device plugin"
	} else {
		c.chart(gpu.DevicePlugin.Chart, plugin)
	}
	for _, path := range refused {
		if c.inv.clusterSource.Has(path) {
			c.cluster(path, fault{What: "is of no use", Rule: rule, Got: "talos.version " + talos, Do: do})
		}
	}
}

// kubePrismContract is the first contract with which Talos serves the Kubernetes API on each node's localhost (machinery,
// config.VersionContract.KubePrismEnabled).
var kubePrismContract = Contract{Major: 1, Minor: 6}

// cilium checks that kubernetes.cni and the addon agree.
func (c *checker) cilium(cilium *Cilium, at *strictyaml.Path) {
	cni := c.inv.Cluster.Kubernetes.CNI
	switch {
	case cilium == nil && cni == CNICilium:
		c.cluster(key("kubernetes", "cni"), fault{
			What: "is cilium, but nothing installs it", Rule: "it is an addon",
			Do: "add addons.cilium: {}, or choose cni: none to install it yourself",
		})
	case cilium != nil && cni != CNICilium && cni != "":
		c.cluster(at, fault{What: "is a second network plugin", Rule: "kubernetes.cni is " + string(cni), Do: "write cni: cilium, or remove the addon"})
	}
	if cilium == nil {
		return
	}
	c.chart(cilium.Chart, at)
	contract := c.inv.Cluster.Talos.Contract
	if cilium.KubeProxyReplacement && !contract.IsZero() && contract.Compare(kubePrismContract) < 0 {
		c.cluster(at.Key("kubeProxyReplacement"), fault{
			What: "leaves Cilium no way to the Kubernetes API", Rule: "KubePrism is there from contract " + kubePrismContract.String(),
			Got: contract.String(), Do: "remove the key",
		})
	}
}

// chart checks that a chart has one source and one version.
func (c *checker) chart(chart Chart, addon *strictyaml.Path) {
	at, source := addon.Key("chart"), c.inv.clusterSource
	if chart.Path != "" && chart.Repository != "" {
		c.cluster(at, fault{What: "has a repository and a path", Rule: "at most one of the two", Do: "remove one of them"})
	}
	if chart.Path != "" && source.Has(addon.Key("version")) {
		c.cluster(addon.Key("version"), fault{
			What: "is given for a chart on this machine", Rule: "it has a version of its own", Do: "remove the key",
		})
	}
	if chart.Path == "" {
		c.url(chart.Repository, at.Key("repository"), "oci", "https", "http")
	}
}

// truenas checks the values of the Secret.
func (c *checker) truenas(truenas TrueNAS, at *strictyaml.Path) {
	if truenas.Host != "" && !hostname.IsHost(truenas.Host) {
		c.cluster(at.Key("host"), fault{
			What: "is neither a DNS name nor an IP address", Got: truenas.Host, Do: "write one like nas.example, without https://",
		})
	}
	dnsLabel(truenas.Namespace, at.Key("namespace"), c.cluster)
	if truenas.CSI != nil {
		c.csi(*truenas.CSI, at.Key("csi"))
	}
}
