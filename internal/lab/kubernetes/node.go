package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/siderolabs/go-kubernetes/kubernetes/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// KWOK selects the Nodes with a running kubelet by this label. Real Nodes do not have it.
const (
	kubeletLabel = "em-infra/kubelet"
	kubeletRuns  = "emulated"
)

// Software of a node with Talos v1.12.4 on amd64: the kernel is machinery's default, containerd that of Talos' go.mod.
const (
	architecture      = "amd64"
	operatingSystem   = "linux"
	containerdVersion = "containerd://2.1.5"
)

// Limits of a kubelet (KubeletConfiguration of Kubernetes 1.35): Pods on a node, and memory that is reserved.
const (
	maxPods       = 110
	evictionHard  = "100Mi"
	kubeletPort   = constants.KubeletPort
	hostnameLabel = corev1.LabelHostname
)

// newNode returns the Node that a kubelet registers.
func newNode(node talos.KubernetesNode, now time.Time) (*corev1.Node, error) {
	taints, err := registeredTaints(node)
	if err != nil {
		return nil, err
	}
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Hostname,
			Labels: map[string]string{
				corev1.LabelArchStable: architecture, corev1.LabelOSStable: operatingSystem, hostnameLabel: node.Hostname,
				"beta.kubernetes.io/arch": architecture, "beta.kubernetes.io/os": operatingSystem,
				kubeletLabel: kubeletRuns,
			},
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec:   corev1.NodeSpec{Taints: taints},
		Status: nodeStatus(node, now),
	}
	return object, nil
}

// registeredTaints returns the taints with which a kubelet registers: those of its extraConfig and, on a control plane, the
// one that keeps Pods away until Talos sets its taints (k8s/kubelet_spec.go).
func registeredTaints(node talos.KubernetesNode) ([]corev1.Taint, error) {
	text, err := json.Marshal(node.Config.Machine().Kubelet().ExtraConfig())
	if err != nil {
		return nil, fmt.Errorf("kubelet extraConfig of %s: %w", node.Hostname, err)
	}
	var config struct {
		RegisterWithTaints []corev1.Taint `json:"registerWithTaints"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("kubelet extraConfig of %s: %w", node.Hostname, err)
	}
	taints := config.RegisterWithTaints
	own := corev1.Taint{Key: constants.LabelNodeRoleControlPlane, Effect: corev1.TaintEffectNoSchedule}
	if node.Config.Machine().Type().IsControlPlane() && !node.Config.Cluster().ScheduleOnControlPlanes() &&
		!slices.ContainsFunc(taints, func(taint corev1.Taint) bool { return taint.Key == own.Key }) {
		taints = append(taints, own)
	}
	return taints, nil
}

// nodeStatus returns the status that a kubelet reports for its machine.
func nodeStatus(node talos.KubernetesNode, now time.Time) corev1.NodeStatus {
	capacity := capacity(node)
	status := corev1.NodeStatus{
		Capacity:        capacity,
		Allocatable:     allocatable(node, capacity),
		Conditions:      conditions(now),
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo:        nodeInfo(node),
	}
	for _, address := range kubeletAddresses(node) {
		status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address.String()})
	}
	status.Addresses = append(status.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: node.Hostname})
	return status
}

// conditions returns the conditions of a healthy node.
func conditions(now time.Time) []corev1.NodeCondition {
	at := metav1.NewTime(now)
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// capacity returns the machine's resources. Its first disk holds the images and volumes of Pods.
func capacity(node talos.KubernetesNode) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(node.Hardware.CPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(node.Hardware.MemoryMiB)<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(maxPods, resource.DecimalSI),
	}
	if len(node.Hardware.Disks) > 0 {
		list[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(node.Hardware.Disks[0].Bytes), resource.BinarySI)
	}
	return list
}

// allocatable returns the capacity minus what Talos and the kubelet reserve (k8s/kubelet_spec.go).
func allocatable(node talos.KubernetesNode, capacity corev1.ResourceList) corev1.ResourceList {
	memory := constants.KubeletSystemReservedMemoryWorker
	if node.Config.Machine().Type().IsControlPlane() {
		memory = constants.KubeletSystemReservedMemoryControlPlane
	}
	list := capacity.DeepCopy()
	for _, kept := range []struct {
		name   corev1.ResourceName
		amount string
	}{
		{corev1.ResourceCPU, constants.KubeletSystemReservedCPU},
		{corev1.ResourceMemory, memory},
		{corev1.ResourceMemory, evictionHard},
		{corev1.ResourceEphemeralStorage, constants.KubeletSystemReservedEphemeralStorage},
	} {
		if left, ok := list[kept.name]; ok {
			left.Sub(resource.MustParse(kept.amount))
			list[kept.name] = left
		}
	}
	return list
}

// nodeInfo returns the versions of the software. The kubelet is the one that was started, regardless of the control plane's
// version.
func nodeInfo(node talos.KubernetesNode) corev1.NodeSystemInfo {
	identity := sha256.Sum256([]byte(node.Identity))
	machine := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%d/%s", node.Hardware.VMID, node.Hostname))
	return corev1.NodeSystemInfo{
		MachineID:               hex.EncodeToString(identity[:16]),
		SystemUUID:              machine.String(),
		BootID:                  node.BootID,
		KernelVersion:           constants.DefaultKernelVersion,
		OSImage:                 fmt.Sprintf("Talos (%s)", node.Release.Version),
		ContainerRuntimeVersion: containerdVersion,
		KubeletVersion:          "v" + compatibility.VersionFromImageRef(node.KubeletImage).String(),
		OperatingSystem:         operatingSystem,
		Architecture:            architecture,
	}
}
