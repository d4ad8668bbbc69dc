package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"

	"github.com/em-infra/em-infra/internal/versions"
)

// removable is implemented by the types of k8s.io/api whose version of the API ends with a minor of Kubernetes. The API server
// stops serving them by the same method (k8s.io/apiserver v0.35.4, pkg/server/deleted_kinds.go).
type removable interface{ APILifecycleRemoved() (major, minor int) }

// servedResource is a resource that the cluster serves in one version of its API.
type servedResource struct {
	schema.GroupVersionResource
	kind string
	// others are the versions in which the same objects are served after the upgrade.
	others []string
}

// removedObjects returns an error for each object that was written in a version of its API that the upgrade removes; the error names the writer. It
// also returns an error for each object whose kind is served in no other version. All other objects of such a version are only converted to it when
// they are read, so nothing changes for them.
func (u Upgrade) removedObjects(ctx context.Context, from versions.Version) (problems []error, err error) {
	err = u.atSomeControlPlane(ctx, func(ctx context.Context, api clients) error {
		problems = nil
		resources, err := u.removedResources(api.kubernetes.Discovery(), from)
		if err != nil || len(resources) == 0 {
			return err
		}
		reader, err := metadata.NewForConfig(api.config)
		if err != nil {
			return err
		}
		for _, r := range resources {
			found, err := u.writtenIn(ctx, reader, r)
			if err != nil {
				return fmt.Errorf("%s: %w", r.GroupVersionResource.GroupResource(), err)
			}
			problems = append(problems, found...)
		}
		return nil
	})
	return problems, err
}

// removedResources returns the resources that are served now and not after the upgrade, sorted: the order of the discovery changes.
func (u Upgrade) removedResources(served discovery.DiscoveryInterface, from versions.Version) ([]servedResource, error) {
	_, lists, err := served.ServerGroupsAndResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) { // an extension API server that is down has no kinds of Kubernetes
		return nil, err
	}
	var removed []servedResource
	staying := map[schema.GroupKind][]string{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || strings.Contains(r.Name, "/") {
				continue
			}
			kind := version.WithKind(r.Kind)
			if u.removes(kind, from) {
				removed = append(removed, servedResource{GroupVersionResource: version.WithResource(r.Name), kind: r.Kind})
			} else {
				staying[kind.GroupKind()] = append(staying[kind.GroupKind()], list.GroupVersion)
			}
		}
	}
	for i, r := range removed {
		removed[i].others = staying[schema.GroupKind{Group: r.Group, Kind: r.kind}]
	}
	slices.SortFunc(removed, func(a, b servedResource) int { return strings.Compare(a.String(), b.String()) })
	return removed, nil
}

// removes reports whether a kind is served by the running version and not by the version of the upgrade.
func (u Upgrade) removes(kind schema.GroupVersionKind, from versions.Version) bool {
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return false // not a kind of Kubernetes itself
	}
	ending, ends := object.(removable)
	if !ends {
		return false
	}
	to := u.To.Minor()
	major, minor := ending.APILifecycleRemoved()
	return uint64(major) == to.Major && uint64(minor) > from.Minor().Minor && uint64(minor) <= to.Minor
}

// writtenIn lists the objects of a resource that the upgrade affects.
func (u Upgrade) writtenIn(ctx context.Context, reader metadata.Interface, r servedResource) (problems []error, err error) {
	list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return reader.Resource(r.GroupVersionResource).List(ctx, options)
	}))
	err = list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		item, is := object.(*metav1.PartialObjectMetadata)
		if !is {
			return fmt.Errorf("an answer of type %T", object)
		}
		if problem := u.affects(r, item); problem != nil {
			problems = append(problems, problem)
		}
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil, nil // gone since the discovery
	}
	return problems, err
}

// affects returns why an object is in the way of the upgrade; nil if it is not.
func (u Upgrade) affects(r servedResource, item *metav1.PartialObjectMetadata) error {
	name := strings.TrimPrefix(item.Namespace+"/"+item.Name, "/")
	version := r.GroupVersion().String()
	if len(r.others) == 0 {
		return fmt.Errorf("%s %s exists, and %s no longer serves %s in any version: save it and delete it, then run up again", r.kind, name, u.To.Minor(), r.kind)
	}
	for _, entry := range item.ManagedFields {
		if entry.APIVersion == version {
			return fmt.Errorf("%s %s was written by %s in %s, which %s no longer serves: write it in %s from now on, then run up again", r.kind, name, entry.Manager, version, u.To.Minor(), r.others[0])
		}
	}
	return nil
}
