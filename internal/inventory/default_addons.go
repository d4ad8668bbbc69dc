package inventory

import "github.com/em-infra/em-infra/internal/nvidia"

// published is a chart as its authors publish it, in a version that the components were written for.
type published struct{ repository, version string }

// The charts of the addons. Each is the newest release for the default Kubernetes that its makers had published by August 2026, in a release line
// that has had a patch. TestE2EPublishedCharts installs them (docs/testing.md); checked on 22 November 2026.
var (
	publishedCilium       = published{"https://helm.cilium.io", "1.19.6"}                             // of 16 July 2026
	publishedApprover     = published{"https://postfinance.github.io/kubelet-csr-approver", "1.2.14"} // of 9 April 2026
	publishedMetrics      = published{"https://kubernetes-sigs.github.io/metrics-server", "3.13.1"}   // of 11 June 2026
	publishedFlux         = published{"oci://ghcr.io/fluxcd-community/charts", "2.18.3"}              // of 15 April 2026
	publishedDevicePlugin = published{"https://nvidia.github.io/k8s-device-plugin", "0.19.3"}         // of 22 June 2026
	publishedGPUOperator  = published{"https://helm.ngc.nvidia.com/nvidia", "v26.3.3"}                // of the mirror of August 2026
)

// complete sets the sources and versions of the charts that a cluster with this release of Talos installs. A chart on this machine is left unchanged,
// since it has its own version.
func (a *Addons) complete(talos string) {
	if a.Cilium != nil {
		publishedCilium.complete(&a.Cilium.Chart, &a.Cilium.Version)
	}
	if a.KubeletServingCertApprover != nil {
		publishedApprover.complete(&a.KubeletServingCertApprover.Chart, &a.KubeletServingCertApprover.Version)
	}
	if a.MetricsServer != nil {
		publishedMetrics.complete(&a.MetricsServer.Chart, &a.MetricsServer.Version)
	}
	switch {
	case a.GPU == nil:
	case nvidia.ByOperator(talos):
		publishedGPUOperator.complete(&a.GPU.Operator.Chart, &a.GPU.Operator.Version)
	default:
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
