package kubernetes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// dnsLabels select the Pods of CoreDNS. The name is that of its predecessor.
var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

const coreDNSName = "coredns"

// coreDNS returns CoreDNS with its Service (k8stemplates/coredns.go).
func coreDNS(cfg config.Provider) ([]manifest, error) {
	addresses, err := cfg.Cluster().Network().DNSServiceIPs()
	if err != nil {
		return nil, fmt.Errorf("addresses of the DNS service: %w", err)
	}
	role := "system:" + coreDNSName
	binding := accountBinding(role, role, coreDNSName)
	binding.Labels = rbacDefaults
	binding.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
	return []manifest{
		{"11-core-dns", []runtime.Object{
			&corev1.ServiceAccount{ObjectMeta: system(coreDNSName, nil)},
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role, Labels: rbacDefaults}, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"endpoints", "services", "pods", "namespaces"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list", "watch"}},
			}},
			binding,
			&corev1.ConfigMap{ObjectMeta: system(coreDNSName, nil), Data: map[string]string{"Corefile": corefile(cfg.Cluster().Network().DNSDomain())}},
			coreDNSDeployment(cfg.Cluster().CoreDNS().Image()),
		}},
		{"11-core-dns-svc", []runtime.Object{dnsService(addresses)}},
	}, nil
}

// corefile returns a configuration of CoreDNS. No process in a rehearsal reads it.
func corefile(domain string) string {
	return strings.Join([]string{
		".:53 {", "  errors", "  health", "  ready", "  prometheus :9153", "  kubernetes " + domain + " in-addr.arpa ip6.arpa",
		"  forward . /etc/resolv.conf", "  cache 30", "  loop", "  reload", "  loadbalance", "}", "",
	}, "\n")
}

func coreDNSDeployment(image string) *appsv1.Deployment {
	replicas, unavailable := int32(2), intstr.FromInt32(1)
	labels := map[string]string{"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"}
	return &appsv1.Deployment{
		ObjectMeta: system(coreDNSName, labels),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &unavailable},
			},
			Selector: &metav1.LabelSelector{MatchLabels: dnsLabels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: dnsLabels},
				Spec: corev1.PodSpec{
					NodeSelector:       map[string]string{corev1.LabelOSStable: operatingSystem},
					ServiceAccountName: coreDNSName, PriorityClassName: "system-cluster-critical", DNSPolicy: corev1.DNSDefault,
					Tolerations: []corev1.Toleration{
						{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
						{Key: "node.cloudprovider.kubernetes.io/uninitialized", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
					},
					Affinity: apart(dnsLabels),
					Containers: []corev1.Container{{
						Name: coreDNSName, Image: image, Args: []string{"-conf", "/etc/coredns/Corefile"},
						Resources: corev1.ResourceRequirements{
							Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("170Mi")},
							Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("70Mi")},
						},
					}},
				},
			},
		},
	}
}

// apart prefers different nodes for Pods with the labels.
func apart(labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: corev1.LabelHostname,
			},
		}},
	}}
}

// dnsService returns the Service with the addresses of the DNS service, IPv4 first.
func dnsService(addresses []netip.Addr) *corev1.Service {
	labels := map[string]string{"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"}
	service := &corev1.Service{
		ObjectMeta: system("kube-dns", labels),
		Spec: corev1.ServiceSpec{
			Selector: dnsLabels,
			Ports: []corev1.ServicePort{
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)},
				{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(53)},
				{Name: "metrics", Port: 9153, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(9153)},
			},
		},
	}
	service.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9153"}
	sorted := slices.SortedStableFunc(slices.Values(addresses), func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() }) // IPv4 first
	for _, address := range sorted {
		family := corev1.IPv4Protocol
		if address.Is6() {
			family = corev1.IPv6Protocol
		}
		service.Spec.ClusterIPs = append(service.Spec.ClusterIPs, address.String())
		service.Spec.IPFamilies = append(service.Spec.IPFamilies, family)
	}
	policy := corev1.IPFamilyPolicySingleStack
	if len(sorted) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	service.Spec.IPFamilyPolicy = &policy
	if len(sorted) > 0 {
		service.Spec.ClusterIP = service.Spec.ClusterIPs[0]
	}
	return service
}
