package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/siderolabs/go-kubernetes/kubernetes/manifests"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/internal/versions"
)

// syncManifests changes the objects that Talos creates in a cluster, such as kube-proxy and CoreDNS, to what Talos would create now: Talos itself
// never changes an object that exists (talos v1.12.4, controllers/k8s/manifest_apply.go). It prints the names of the objects that it changes, but
// never their contents, because one of them is the bootstrap token.
func (u Upgrade) syncManifests(ctx context.Context, seen *survey) error {
	first := seen.controlPlanes()[0]
	objects, err := u.manifests(ctx, first)
	if err != nil {
		return fmt.Errorf("the manifests of Talos are not applied, because %s does not give them (%w): run up again; it goes on from here", first.Name, err)
	}
	if first.talos.Minor().Compare(firstInventory) >= 0 {
		owned(objects)
	}
	err = u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) error { return u.apply(ctx, api, objects) })
	if err != nil {
		return fmt.Errorf("the manifests of Talos are not applied (%w): run up again; it goes on from here", err)
	}
	return u.awaitRollout(ctx, objects, seen.networked)
}

// manifests returns the objects of Talos' manifests, once they name the new kube-proxy.
func (u Upgrade) manifests(ctx context.Context, m member) ([]*unstructured.Unstructured, error) {
	image, err := u.proxyImage(ctx, m)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	err = u.await(ctx, u.Limits.Component, func(ctx context.Context) error {
		return u.call(ctx, m.Node, func(ctx context.Context, api *client.Client) (err error) {
			if objects, err = manifests.GetBootstrapManifests(ctx, api.COSI, nil); err != nil {
				return err
			}
			for _, object := range objects {
				if isDaemonSet(object, "kube-proxy") && firstImage(object) != image {
					return errNotTakenUp
				}
			}
			return nil
		})
	})
	return objects, err
}

// apply changes the objects that differ. A failed run may have applied a part: the rest is found by the comparison of the next one.
func (u Upgrade) apply(ctx context.Context, api clients, objects []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, u.Limits.Manifests)
	defer cancel()
	results, failed := make(chan manifests.SyncResult), make(chan error, 1)
	go func() { failed <- manifests.Sync(ctx, objects, api.config, false, results) }()
	for {
		select {
		case result := <-results:
			if !result.Skipped {
				u.say("applied %s", describe(result.Object))
			}
		case err := <-failed:
			return err
		}
	}
}

// firstInventory is the first release of Talos that marks the objects of its manifests (talos v1.13.0, manifest_apply.go).
var firstInventory = versions.Minor{Major: 1, Minor: 13}

// owned marks objects as Talos does, which applies and prunes objects by that mark. The objects are replaced as a whole, and would lose the mark
// otherwise.
func owned(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["config.k8s.io/owning-inventory"] = "talos-bootstrap-manifests-inventory"
		object.SetAnnotations(annotations)
	}
}

// describe returns the kind and the name of an object.
func describe(object *unstructured.Unstructured) string {
	return strings.TrimSpace(object.GetKind() + " " + strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/"))
}

func isDaemonSet(object *unstructured.Unstructured, name string) bool {
	return object.GetKind() == "DaemonSet" && object.GetName() == name
}

// firstImage returns the image of the first container in the template of a workload.
func firstImage(object *unstructured.Unstructured) string {
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		return ""
	}
	container, _ := containers[0].(map[string]any)
	image, _ := container["image"].(string)
	return image
}

// errRollingOut is returned for a workload whose new pods are not all available.
var errRollingOut = errors.New("not all of its new pods are available")
