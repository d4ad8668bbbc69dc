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

// systemNamespace is where privileged pods may run: Talos enforces baseline everywhere else (machinery, the default of
// cluster.apiServer.admissionControl).
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

// ownership are the options of the release: this stack keeps it, or leaves it alone once it is installed.
func (c Cilium) ownership() []pulumi.ResourceOption {
	if !c.HandOver {
		return nil
	}
	return []pulumi.ResourceOption{handedOver()}
}

// ciliumValues are those of the guide "Deploy Cilium CNI" of Talos: addresses from Kubernetes, the control groups that
// Talos has mounted, no capability to load modules, and KubePrism where there is no kube-proxy.
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
		// Two operators never share a node. With one node the second would be Pending for ever, and an upgrade with it: only
		// with one replica does the chart remove the old operator before it starts the new one
		// (cilium-operator/deployment.yaml, strategy).
		values["operator"] = map[string]any{"replicas": 1}
	}
	return values
}

// operatorTolerates are the taints of nodes that Cilium's operator runs on (values.yaml of the chart, operator.tolerations),
// as far as machines have them from the start.
var operatorTolerates = []string{constants.LabelNodeRoleControlPlane}

// operatorNodes is the number of machines on which Cilium's operator can run.
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
