package nodeops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// smokeNamespace is where the pod runs: baseline, which Talos enforces there, is enough for a GPU.
const smokeNamespace = "default"

// RunOnGPU runs a pod with one GPU on a node to its end and removes it. The error is one sentence about a pod that does not
// end with success before ctx does.
func RunOnGPU(ctx context.Context, talosconfig []byte, node, image string) error {
	api, err := ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return fmt.Errorf("the Kubernetes API does not answer (%s): run up again when it does", oneLine(err))
	}
	defer api.Close()
	pods, name := "/api/v1/namespaces/"+smokeNamespace+"/pods", "em-infra-gpu-"+node
	// What an earlier run left behind would be taken for the answer.
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
			"tolerations":      []object{{"operator": "Exists"}}, // it is for this node, whatever keeps others away
			"containers": []object{{
				"name": "gpu", "image": image, "resources": object{"limits": object{GPUResource: "1"}},
			}},
		},
	}
}

// podOutcome waits for the end of a pod.
func podOutcome(ctx context.Context, api *Kubernetes, path, name string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var pod struct {
		Status struct{ Phase, Message string }
	}
	for {
		err := api.call(ctx, http.MethodGet, path, nil, &pod)
		switch {
		case err == nil && pod.Status.Phase == "Succeeded":
			return nil
		case err == nil && pod.Status.Phase == "Failed":
			return fmt.Errorf("the pod %s failed on its GPU (%s): run it by hand to see its log, then run up again", name, cmp.Or(pod.Status.Message, "no message"))
		}
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("waiting for pod %s: %w", name, context.Cause(ctx))
			}
			return &lateError{what: "the pod " + name + " is still " + cmp.Or(pod.Status.Phase, "unknown"), remedy: "see that the node can pull its image and has a free GPU, then run up again"}
		case <-ticker.C:
		}
	}
}

// removePod returns when there is no such pod any more.
func removePod(ctx context.Context, api *Kubernetes, path string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := api.call(ctx, http.MethodDelete, path+"?gracePeriodSeconds=0", nil, nil)
		if isRefusal(err, http.StatusNotFound) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the pod of a GPU test cannot be removed (%w): remove it with `kubectl delete --namespace %s pod --selector app.kubernetes.io/managed-by=em-infra`", ctx.Err(), smokeNamespace)
		case <-ticker.C:
		}
	}
}
