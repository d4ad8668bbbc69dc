package inventory

import (
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ordinaryPods checks that there is a node for the pods of a chart that tolerate no taint. Without one, the chart's release would wait until its
// timeout. If the user sets tolerations, nothing is checked.
func (c *checker) ordinaryPods(values Values, addon *strictyaml.Path) {
	if len(c.inv.Nodes) == 0 || strings.Contains(string(values), "tolerations:") || slices.ContainsFunc(c.inv.Nodes, c.takesOrdinaryPods) {
		return
	}
	c.cluster(addon, fault{
		What: "finds no node for its pods", Rule: "they tolerate no taint, and every node has one",
		Do: "add a worker without taints, write kubernetes.allowSchedulingOnControlPlanes: true, or give tolerations among the values",
	})
}

// gpuTaint is the default taint of a gpu-worker (internal/machineconfig, NVIDIATaints).
const gpuTaint = "nvidia.com/gpu"

// takesOrdinaryPods reports whether a pod without tolerations may run on the node.
func (c *checker) takesOrdinaryPods(node Node) bool {
	if node.Role == RoleControlPlane && !c.inv.Cluster.Kubernetes.AllowSchedulingOnControlPlanes {
		return false
	}
	if _, isSet := node.Taints[gpuTaint]; node.Role == RoleGPUWorker && !isSet {
		return false
	}
	for _, taint := range node.Taints {
		if taint.Effect != TaintPreferNoSchedule {
			return false
		}
	}
	return true
}
