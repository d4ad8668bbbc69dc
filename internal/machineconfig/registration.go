package machineconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// Registration returns the patch with the labels and taints (key to value:effect) of a Kubernetes node; it is empty if there
// are none.
//
// Talos sets the taints of a control plane itself. On a worker it has only the kubelet's own credentials, with which the API
// server allows no change of taints: an update with taints fails, and the labels with it (k8s/node_apply.go in
// siderolabs/talos; plugin/pkg/admission/noderestriction in kubernetes). So the kubelet of a worker sets them when it
// registers, and a change of taints requires that the Node is deleted and registered again.
func Registration(controlPlane bool, labels, taints map[string]string) (string, error) {
	if len(labels) == 0 && len(taints) == 0 {
		return "", nil
	}
	machine := &v1alpha1.MachineConfig{MachineNodeLabels: labels}
	switch {
	case controlPlane:
		machine.MachineNodeTaints = taints
	case len(taints) > 0:
		list, err := taintList(taints)
		if err != nil {
			return "", err
		}
		machine.MachineKubelet = &v1alpha1.KubeletConfig{
			KubeletExtraConfig: v1alpha1.Unstructured{Object: map[string]any{"registerWithTaints": list}},
		}
	}
	return encode(&v1alpha1.Config{MachineConfig: machine})
}

// taintList returns taints in the form of a kubelet's configuration, sorted by key.
func taintList(taints map[string]string) ([]any, error) {
	list := make([]any, 0, len(taints))
	for _, key := range slices.Sorted(maps.Keys(taints)) {
		value, effect, found := strings.Cut(taints[key], ":")
		if !found {
			return nil, fmt.Errorf("taint %s: %q is not value:effect: write one like present:NoSchedule", key, taints[key])
		}
		taint := map[string]any{"key": key, "effect": effect}
		if value != "" {
			taint["value"] = value
		}
		list = append(list, taint)
	}
	return list, nil
}
