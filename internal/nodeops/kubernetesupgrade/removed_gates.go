package kubernetesupgrade

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/go-kubernetes/kubernetes/upgrade"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/versions"
)

// The first and the last minor whose removals are known: up to listedMinor by go-kubernetes v0.2.28, later ones by removedGates.
const (
	firstMinor  = 25
	listedMinor = 35
)

// removedGates are the feature gates that a minor of Kubernetes no longer has, by that minor. They are the difference of the
// constants of type featuregate.Feature in k8s.io/kubernetes and its staging modules between v1.35.4 and v1.36.2, and between
// v1.36.2 and v1.37.1. The flags of the components were compared in the same way: these two minors have removed none.
var removedGates = map[uint64][]string{
	36: {
		"CSIMigrationPortworx", "HonorPVReclaimPolicy", "InPlacePodVerticalScalingAllocatedStatus", "InTreePluginPortworxUnregister",
		"MemoryManager", "ServiceTrafficDistribution", "StructuredAuthorizationConfiguration", "TopologyAwareHints",
		"WatchFromStorageWithoutResourceVersion",
	},
	37: {
		"APIServerTracing", "AnonymousAuthConfigurableEndpoints", "AnyVolumeDataSource", "AuthorizeNodeWithSelectors",
		"AuthorizeWithSelectors", "BtreeWatchCache", "ConsistentListFromCache", "GangScheduling", "JobBackoffLimitPerIndex",
		"JobPodReplacementPolicy", "JobSuccessPolicy", "LogarithmicScaleDown", "OrderedNamespaceDeletion", "PodLifecycleSleepAction",
		"PodLifecycleSleepActionAllowZero", "PreventStaticPodAPIReferences", "RelaxedDNSSearchValidation",
		"ResilientWatchCacheInitialization", "RetryGenerateName", "SchedulerQueueingHints", "SidecarContainers",
		"StreamingCollectionEncodingToJSON", "StreamingCollectionEncodingToProtobuf", "StructuredAuthenticationConfiguration",
		"WorkloadAwarePreemption",
	},
}

func isKnown(to versions.Minor) bool {
	_, own := removedGates[to.Minor]
	return to.Major == 1 && (own || to.Minor >= firstMinor && to.Minor <= listedMinor)
}

// unlisted looks for removed feature gates that go-kubernetes does not know: those of later minors, and those of kubelets, whose
// gates it does not check.
func (u Upgrade) unlisted(ctx context.Context, api *client.Client, m member, found *upgrade.ComponentRemovedItemsError) error {
	gates := removedGates[u.To.Minor().Minor]
	for _, c := range components {
		if _, enabled := m.running[c.id]; !enabled {
			continue
		}
		command, err := staticPodCommand(ctx, api.COSI, c.id)
		if err != nil {
			return err
		}
		found.PopulateRemovedFeatureGates(m.Name, c.id, command, gates)
	}
	kubelet, err := safe.StateGetByID[*k8s.KubeletSpec](ctx, api.COSI, k8s.KubeletID)
	if err != nil {
		return err
	}
	found.PopulateRemovedFeatureGates(m.Name, k8s.KubeletID, kubelet.TypedSpec().Args, gates)
	configured, _ := kubelet.TypedSpec().Config["featureGates"].(map[string]any)
	for _, gate := range slices.Sorted(maps.Keys(configured)) {
		if slices.Contains(gates, gate) {
			found.FeatureGates = append(found.FeatureGates, upgrade.ComponentItem{Node: m.Name, Component: k8s.KubeletID, Value: gate})
		}
	}
	return nil
}

// staticPodCommand returns the command of a static pod's container.
func staticPodCommand(ctx context.Context, resources state.State, id string) ([]string, error) {
	pod, err := safe.StateGet[*k8s.StaticPod](ctx, resources, k8s.NewStaticPod(k8s.NamespaceName, id).Metadata())
	if err != nil {
		return nil, err
	}
	spec, _ := pod.TypedSpec().Pod["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	if len(containers) == 0 {
		return nil, nil
	}
	container, _ := containers[0].(map[string]any)
	words, _ := container["command"].([]any)
	var command []string
	for _, word := range words {
		if text, is := word.(string); is {
			command = append(command, strings.TrimSpace(text))
		}
	}
	return command, nil
}
