package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/poll"
)

// manifestRetry is the delay before failed objects are tried again.
const manifestRetry = 5 * time.Second

// manifestWork applies the manifests of each control plane.
type manifestWork struct {
	group   sync.WaitGroup
	current map[int]manifestRun // by VMID
}

// manifestRun belongs to one boot and one machine configuration of a control plane.
type manifestRun struct {
	node talos.KubernetesNode
	stop context.CancelFunc
}

// begin starts again for the control planes that have rebooted, or whose machine configuration has changed. The work ends
// with ctx.
func (w *manifestWork) begin(ctx context.Context, controlPlanes []talos.KubernetesNode, apply func(context.Context, talos.KubernetesNode)) {
	if w.current == nil {
		w.current = map[int]manifestRun{}
	}
	for _, node := range controlPlanes {
		before, known := w.current[node.Hardware.VMID]
		if known && before.node.BootID == node.BootID && before.node.Config == node.Config {
			continue
		}
		if known {
			before.stop()
		}
		ctx, stop := context.WithCancel(ctx)
		w.current[node.Hardware.VMID] = manifestRun{node, stop}
		w.group.Go(func() { apply(ctx, node) })
	}
}

// applyManifests creates the manifests of a control plane. It retries until all of them exist.
func (p *controlPlane) applyManifests(ctx context.Context, node talos.KubernetesNode, report func(error)) {
	reported := ""
	_ = poll.Until(ctx, manifestRetry, func(ctx context.Context) (bool, error) {
		err := p.makeManifests(ctx, node)
		if err == nil || ctx.Err() != nil {
			return true, nil
		}
		if text := err.Error(); text != reported {
			report(fmt.Errorf("manifests of %s: %w", node.Hostname, err))
			reported = text
		}
		return false, nil
	}) // the only error is that of the control plane's context
}

// makeManifests creates missing objects. An existing object stays unchanged, even if the manifest differs
// (k8s/manifest_apply.go).
func (p *controlPlane) makeManifests(ctx context.Context, node talos.KubernetesNode) error {
	manifests, err := manifestsOf(node.Config)
	if err != nil {
		return err
	}
	objects, err := flatten(manifests)
	if err != nil {
		return err
	}
	own, err := p.current()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(own.rest)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(own.admin.Discovery()))
	var errs []error
	for _, object := range objects {
		if err := makeObject(ctx, client, mapper, object); err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

func makeObject(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var resources dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(corev1.NamespaceDefault)
		}
		resources = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = resources.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = resources.Create(ctx, object, metav1.CreateOptions{FieldManager: "talos"})
	}
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
