package nodeops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/em-infra/em-infra/internal/poll"
)

// smokeNamespace is the namespace of the pod. Talos enforces the level baseline there, which is enough for a GPU.
const smokeNamespace = "default"

// RunOnGPU runs a pod with one GPU on a node, waits for its end and removes it. The error is one sentence about a pod that
// does not succeed before ctx ends.
func RunOnGPU(ctx context.Context, talosconfig []byte, node, image string) error {
	api, err := ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return fmt.Errorf("the Kubernetes API does not answer (%s): run up again when it does", oneLine(err))
	}
	defer api.Close()
	pods, name := "/api/v1/namespaces/"+smokeNamespace+"/pods", "em-infra-gpu-"+node
	// Remove the pod of an earlier run: its result would be mistaken for the new one.
	if err := removePod(ctx, api, pods+"/"+name); err != nil {
		return err
	}
	if err := api.call(ctx, http.MethodPost, pods, smokePod(name, node, image), nil); err != nil {
		return fmt.Errorf("the pod that tries the GPU of %s is refused (%w): see what refuses it, then run up again", node, err)
	}
	outcome := podOutcome(ctx, api, pods+"/"+name, name)
	cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	return errors.Join(outcome, removePod(cleanup, api, pods+"/"+name))
}

// object is a Kubernetes object in the form of its JSON.
type object = map[string]any

func smokePod(name, node, image string) object {
	return object{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": object{"name": name, "labels": object{"app.kubernetes.io/managed-by": "em-infra"}},
		"spec": object{
			"restartPolicy":    "Never",
			"runtimeClassName": "nvidia",
			"nodeSelector":     object{"kubernetes.io/hostname": node},
			"tolerations":      []object{{"operator": "Exists"}}, // run on this node whatever its taints
			"containers": []object{{
				"name": "gpu", "image": image, "resources": object{"limits": object{GPUResource: "1"}},
			}},
		},
	}
}

// podOutcome waits until a pod has ended.
func podOutcome(ctx context.Context, api *Kubernetes, path, name string) error {
	var pod struct {
		Status struct{ Phase, Message string }
	}
	err := poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := api.call(ctx, http.MethodGet, path, nil, &pod)
		return err == nil && (pod.Status.Phase == podSucceeded || pod.Status.Phase == podFailed), nil
	})
	switch {
	case err == nil && pod.Status.Phase == podFailed:
		return fmt.Errorf("the pod %s failed on its GPU (%s): run it by hand to see its log, then run up again", name, cmp.Or(pod.Status.Message, "no message"))
	case err == nil:
		return nil
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("waiting for pod %s: %w", name, err)
	default:
		return &lateError{what: "the pod " + name + " is still " + cmp.Or(pod.Status.Phase, "unknown"), remedy: "see that the node can pull its image and has a free GPU, then run up again"}
	}
}

// Phases of a pod that has ended (k8s.io/api/core/v1, PodPhase).
const (
	podSucceeded = "Succeeded"
	podFailed    = "Failed"
)

// removePod deletes a pod and returns when it is gone.
func removePod(ctx context.Context, api *Kubernetes, path string) error {
	if poll.Until(ctx, pollInterval, func(ctx context.Context) (bool, error) {
		err := api.call(ctx, http.MethodDelete, path+"?gracePeriodSeconds=0", nil, nil)
		return isRefusal(err, http.StatusNotFound), nil
	}) != nil {
		return fmt.Errorf("the pod of a GPU test cannot be removed (%w): remove it with `kubectl delete --namespace %s pod --selector app.kubernetes.io/managed-by=em-infra`", ctx.Err(), smokeNamespace)
	}
	return nil
}
