package components

import (
	"strings"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Type tokens. A changed token changes the URN of everything beneath it.
const (
	typeTalosTemplate = token.TalosTemplate
	typeTalosNode     = token.TalosNode
	typeGPUWorker     = token.GPUWorker
	typeTalosCluster  = token.TalosCluster
	typeClusterAddons = token.ClusterAddons
	typeProxmoxHost   = token.ProxmoxHost

	typeVirtualMachine = token.StandaloneMachine
	typeContainer      = token.StandaloneContainer
	typeTrueNASStorage = token.TrueNASStorage
	typeTrueNASDataset = token.TrueNASDataset
)

// NodeName returns the logical name of a node of a cluster: unique among clusters, without the cluster's name twice
// ("k3s-dev-k3s-dev-worker-1") if the node's name already contains it.
func NodeName(cluster, node string) string {
	if strings.HasPrefix(node, cluster+"-") {
		return node
	}
	return cluster + "-" + node
}

// BootstrapName returns the logical name of a cluster's bootstrap, for code that adopts it into a state.
func BootstrapName(cluster string) string { return cluster + "-bootstrap" }
