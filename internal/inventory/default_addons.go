package inventory

// published is a chart as its makers publish it, in a version that the components were written for.
type published struct{ repository, version string }

// The charts of the addons. The versions are those that fit the default Kubernetes.
var (
	publishedCilium       = published{"https://helm.cilium.io", "1.19.6"}
	publishedApprover     = published{"https://postfinance.github.io/kubelet-csr-approver", "1.2.6"}
	publishedMetrics      = published{"https://kubernetes-sigs.github.io/metrics-server", "3.13.0"}
	publishedFlux         = published{"oci://ghcr.io/fluxcd-community/charts", "2.18.2"}
	publishedDevicePlugin = published{"https://nvidia.github.io/k8s-device-plugin", "0.18.2"}
)

// complete fills in where the charts come from. A chart on this machine has its own version.
func (a *Addons) complete() {
	if a.Cilium != nil {
		publishedCilium.complete(&a.Cilium.Chart, &a.Cilium.Version)
	}
	if a.KubeletServingCertApprover != nil {
		publishedApprover.complete(&a.KubeletServingCertApprover.Chart, &a.KubeletServingCertApprover.Version)
	}
	if a.MetricsServer != nil {
		publishedMetrics.complete(&a.MetricsServer.Chart, &a.MetricsServer.Version)
	}
	if a.GPU != nil {
		publishedDevicePlugin.complete(&a.GPU.DevicePlugin.Chart, &a.GPU.DevicePlugin.Version)
	}
	if a.Flux != nil {
		publishedFlux.complete(&a.Flux.Chart, &a.Flux.Version)
		a.Flux.complete()
	}
}

func (p published) complete(chart *Chart, version *ChartVersion) {
	if chart.Path != "" {
		return
	}
	chart.Repository = or(chart.Repository, p.repository)
	*version = or(*version, ChartVersion{p.version})
}

func (f *Flux) complete() {
	if source := f.GitRepository; source != nil && source.Tag == "" {
		source.Branch = or(source.Branch, "main")
	}
}
