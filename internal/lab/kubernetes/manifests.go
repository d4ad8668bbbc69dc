package kubernetes

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// manifest is a group of objects that Talos creates in the cluster, in the order of the names.
type manifest struct {
	name    string
	objects []runtime.Object
}

// manifestsOf returns the manifests that Talos creates for the machine configuration of a control plane (k8s/manifest.go,
// k8s/control_plane.go). Manifests by URL are left out: a rehearsal contacts no other machine.
func manifestsOf(cfg config.Provider) ([]manifest, error) {
	cluster := cfg.Cluster()
	all := accessManifests(cfg)
	if cfg.Machine().Features().KubernetesTalosAPIAccess().Enabled() {
		kind, err := decode(talosAccountKind)
		if err != nil {
			return nil, err
		}
		all = append(all, manifest{"13-talos-service-account-crd", kind})
	}
	if cluster.CoreDNS().Enabled() {
		dns, err := coreDNS(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, dns...)
	}
	if cluster.Network().CNI().Name() == constants.FlannelCNI {
		flannel, err := flannel(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, flannel)
	}
	if cluster.Proxy().Enabled() {
		all = append(all, kubeProxy(cfg))
	}
	for _, inline := range cluster.InlineManifests() {
		objects, err := decode(inline.Contents())
		if err != nil {
			return nil, fmt.Errorf("inline manifest %s: %w", inline.Name(), err)
		}
		all = append(all, manifest{"99-" + inline.Name(), objects})
	}
	slices.SortStableFunc(all, func(a, b manifest) int { return cmp.Compare(a.name, b.name) })
	return all, nil
}

// Manifests implements [talos.Kubernetes].
func (c *Clusters) Manifests(cfg config.Provider) ([]talos.Manifest, error) {
	groups, err := manifestsOf(cfg)
	if err != nil {
		return nil, err
	}
	manifests := make([]talos.Manifest, 0, len(groups))
	for _, group := range groups {
		shown := talos.Manifest{ID: group.name}
		for _, object := range group.objects {
			generic, err := untyped(object)
			if err != nil {
				return nil, fmt.Errorf("manifest %s: %w", group.name, err)
			}
			shown.Objects = append(shown.Objects, generic.Object)
		}
		manifests = append(manifests, shown)
	}
	return manifests, nil
}

// decode decodes the documents of a manifest.
func decode(text string) ([]runtime.Object, error) {
	var objects []runtime.Object
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// flatten returns the objects of all manifests: first Namespaces, then CustomResourceDefinitions, then the others
// (k8s/manifest_apply.go).
func flatten(manifests []manifest) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, m := range manifests {
		for _, object := range m.objects {
			generic, err := untyped(object)
			if err != nil {
				return nil, fmt.Errorf("manifest %s: %w", m.name, err)
			}
			all = append(all, generic)
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return all, nil
}

func rank(object *unstructured.Unstructured) int {
	switch object.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	default:
		return 2
	}
}

// untyped returns an object with its kind, as the dynamic client needs it.
func untyped(object runtime.Object) (*unstructured.Unstructured, error) {
	if generic, is := object.(*unstructured.Unstructured); is {
		return generic, nil
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	generic := &unstructured.Unstructured{Object: fields}
	generic.SetGroupVersionKind(kinds[0])
	return generic, err
}

// system returns the metadata of one of Talos' own objects in kube-system.
func system(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: labels}
}

// everywhere returns tolerations that keep a Pod on any node.
func everywhere() []corev1.Toleration {
	return []corev1.Toleration{
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
}
