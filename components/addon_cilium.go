package components

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/machineconfig"
)

// systemNamespace is the namespace in which privileged pods may run: Talos enforces the baseline level in all others
// (machinery, the default of cluster.apiServer.admissionControl).
const systemNamespace = "kube-system"

// addCilium installs the network plugin.
func (c *ClusterAddons) addCilium(ctx *pulumi.Context) error {
	cilium := c.args.Cilium
	if cilium == nil {
		return nil
	}
	release, err := c.addRelease(ctx, "cilium", systemNamespace, cilium.Chart, ciliumValues(c.args.Cluster.args), cilium.ownership()...)
	if err != nil {
		return err
	}
	c.last = []pulumi.Resource{release}
	return nil
}

// ownership returns the options of the release: this stack manages it, or leaves it alone once it is installed.
func (c Cilium) ownership() []pulumi.ResourceOption {
	if !c.HandOver {
		return nil
	}
	return []pulumi.ResourceOption{handedOver()}
}

// ciliumValues returns the values of Talos' guide "Deploy Cilium CNI": addresses from Kubernetes, the control groups that Talos
// has mounted, no capability to load modules, and KubePrism where there is no kube-proxy.
func ciliumValues(cluster TalosClusterArgs) map[string]any {
	values := map[string]any{
		"ipam":                 map[string]any{"mode": "kubernetes"},
		"kubeProxyReplacement": cluster.KubeProxyReplacement,
		"securityContext": map[string]any{"capabilities": map[string]any{
			"ciliumAgent": []any{
				"CHOWN", "KILL", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "SYS_ADMIN", "SYS_RESOURCE", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID",
			},
			"cleanCiliumState": []any{"NET_ADMIN", "SYS_ADMIN", "SYS_RESOURCE"},
		}},
		"cgroup": map[string]any{"autoMount": map[string]any{"enabled": false}, "hostRoot": "/sys/fs/cgroup"},
		"ipv4":   map[string]any{"enabled": slices.ContainsFunc(cluster.PodSubnets, isIPv4)},
		"ipv6":   map[string]any{"enabled": slices.ContainsFunc(cluster.PodSubnets, isIPv6)},
	}
	if cluster.KubeProxyReplacement {
		values["k8sServiceHost"], values["k8sServicePort"] = "localhost", constants.DefaultKubePrismPort
	}
	if operatorNodes(cluster.Machines) < 2 {
		// Two operators never share a node. With one node the second would stay Pending and block every upgrade: the chart removes
		// the old operator before it starts the new one only if there is one replica (cilium-operator/deployment.yaml, strategy).
		values["operator"] = map[string]any{"replicas": 1}
	}
	return values
}

// operatorTolerates are the taints that Cilium's operator tolerates (values.yaml of the chart, operator.tolerations), limited
// to those that machines have from the start.
var operatorTolerates = []string{constants.LabelNodeRoleControlPlane}

// operatorNodes returns the number of machines on which Cilium's operator can run.
func operatorNodes(machines []Machine) (nodes int) {
	for _, m := range machines {
		taints := m.Taints
		if len(m.GPUs) > 0 {
			taints = overlay(machineconfig.NVIDIATaints(), taints)
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(taints)), func(key string) bool {
			return !slices.Contains(operatorTolerates, key) && !strings.HasSuffix(taints[key], ":PreferNoSchedule")
		}) {
			nodes++
		}
	}
	return nodes
}

func isIPv4(prefix netip.Prefix) bool { return prefix.Addr().Is4() }

func isIPv6(prefix netip.Prefix) bool { return prefix.Addr().Is6() }
