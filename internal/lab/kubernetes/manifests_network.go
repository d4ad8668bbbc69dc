package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/version"
)

const (
	flannelName   = "flannel"
	kubeProxyName = "kube-proxy"
)

// flannel returns the CNI that Talos includes (k8stemplates/flannel.go).
func flannel(cfg config.Provider) (manifest, error) {
	network, err := flannelNetwork(cfg.Cluster().Network().PodCIDRs())
	if err != nil {
		return manifest{}, err
	}
	own, labels := map[string]string{"k8s-app": flannelName}, map[string]string{"k8s-app": flannelName, "tier": "node"}
	binding := accountBinding(flannelName, flannelName, flannelName)
	binding.Labels = own
	set := daemonSet("kube-flannel", labels, corev1.PodSpec{
		ServiceAccountName: flannelName, PriorityClassName: "system-node-critical",
		Containers: []corev1.Container{{
			Name: "kube-flannel", Image: "ghcr.io/siderolabs/flannel:" + constants.FlannelVersion,
			Command: []string{"/opt/bin/flanneld"},
			Args:    slices.Concat([]string{"--ip-masq", "--kube-subnet-mgr"}, cfg.Cluster().Network().CNI().Flannel().ExtraArgs()),
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("50Mi"),
			}},
		}},
	})
	return manifest{"05-flannel", []runtime.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: flannelName, Labels: own}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
		}},
		binding,
		&corev1.ServiceAccount{ObjectMeta: system(flannelName, own)},
		&corev1.ConfigMap{ObjectMeta: system("kube-flannel-cfg", labels), Data: map[string]string{"net-conf.json": network}},
		set,
	}}, nil
}

// flannelNetwork returns flannel's configuration with the networks of the Pods, at most one of each family.
func flannelNetwork(cidrs []string) (string, error) {
	network := map[string]any{"Backend": map[string]any{"Type": "vxlan", "Port": 4789}, "EnableIPv4": false}
	for _, cidr := range cidrs {
		if strings.Contains(cidr, ":") {
			network["IPv6Network"], network["EnableIPv6"] = cidr, true
			continue
		}
		network["Network"] = cidr
		delete(network, "EnableIPv4") // enabled by default
	}
	text, err := json.MarshalIndent(network, "", "  ")
	return string(text), err
}

// kubeProxy returns kube-proxy (k8stemplates/kube-proxy.go).
func kubeProxy(cfg config.Provider) manifest {
	proxy := cfg.Cluster().Proxy()
	set := daemonSet(kubeProxyName, map[string]string{"k8s-app": kubeProxyName, "tier": "node"}, corev1.PodSpec{
		ServiceAccountName: kubeProxyName, PriorityClassName: "system-cluster-critical",
		Containers: []corev1.Container{{
			Name: kubeProxyName, Image: proxy.Image(), Command: append([]string{"/usr/local/bin/kube-proxy"}, proxyArguments(cfg)...),
		}},
	})
	unavailable := intstr.FromInt32(1)
	set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &unavailable},
	}
	return manifest{"10-kube-proxy", []runtime.Object{
		set,
		&corev1.ServiceAccount{ObjectMeta: system(kubeProxyName, nil)},
		accountBinding(kubeProxyName, "system:node-proxier", kubeProxyName),
	}}
}

// firstNFTables is the first release for which Talos configures kube-proxy with nftables.
var firstNFTables = version.MustParseGeneric("1.31.0")

// proxyArguments returns Talos' own arguments, overridden by those of the machine configuration. The mode depends on the
// release (k8s/control_plane.go).
func proxyArguments(cfg config.Provider) []string {
	proxy := cfg.Cluster().Proxy()
	mode := proxy.Mode()
	if mode == "" {
		mode = "nftables"
		if release, err := version.ParseGeneric(compatibility.VersionFromImageRef(proxy.Image()).String()); err == nil && release.LessThan(firstNFTables) {
			mode = "iptables"
		}
	}
	arguments := map[string]string{
		"cluster-cidr": strings.Join(cfg.Cluster().Network().PodCIDRs(), ","), "hostname-override": "$(NODE_NAME)",
		"kubeconfig": "/etc/kubernetes/kubeconfig", "proxy-mode": mode, "conntrack-max-per-core": "0",
	}
	maps.Copy(arguments, proxy.ExtraArgs())
	var list []string
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		list = append(list, fmt.Sprintf("--%s=%s", name, arguments[name]))
	}
	return list
}

// daemonSet returns one of Talos' own DaemonSets: a Pod in the host network of each node, regardless of its taints.
func daemonSet(name string, labels map[string]string, pod corev1.PodSpec) *appsv1.DaemonSet {
	pod.HostNetwork, pod.Tolerations = true, everywhere()
	pod.Containers[0].Env = []corev1.EnvVar{{
		Name: "NODE_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}},
	}}
	return &appsv1.DaemonSet{
		ObjectMeta: system(name, labels),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	}
}
