package object

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
)

// The API server records which manager owns which field of an object
// (https://kubernetes.io/docs/reference/using-api/server-side-apply).

// ours are the field managers that all versions of this provider use for creations.
var ours = sets.New(creator, "pulumi-kubernetes.exe", "pulumi-resource-kubernetes")

// takenOver are the managers whose fields the first update takes over: ours and kubectl's.
var takenOver = ours.Union(sets.New("kubectl", "before-first-apply"))

// takeOver makes manager the owner of the fields that the managers in takenOver own.
func (o *Objects) takeOver(
	ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured, manager string,
) error {
	if len(live.GetManagedFields()) == 0 {
		return nil
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, takenOver, manager)
	if err != nil {
		return fmt.Errorf("take over the fields of %s: %w", idOf(live), err)
	}
	if len(patch) == 0 {
		return nil
	}
	_, err = client.Patch(ctx, live.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
	return err
}

// relinquish removes all fields from the ownership of manager.
func (o *Objects) relinquish(
	ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured, manager string,
) error {
	nothing := &unstructured.Unstructured{Object: map[string]any{}}
	nothing.SetGroupVersionKind(live.GroupVersionKind())
	nothing.SetNamespace(live.GetNamespace())
	nothing.SetName(live.GetName())
	_, err := o.apply(ctx, client, nothing, applied{manager: manager, name: live.GetName()})
	return err
}

// applied are the options of an apply.
type applied struct {
	manager string
	force   bool // take fields from other managers
	preview bool
	name    string // of the object
}

func (o *Objects) apply(
	ctx context.Context, client dynamic.ResourceInterface, inputs *unstructured.Unstructured, how applied,
) (*unstructured.Unstructured, error) {
	text, err := inputs.MarshalJSON() // JSON is YAML
	if err != nil {
		return nil, err
	}
	live, err := client.Patch(ctx, how.name, types.ApplyPatchType, text, metav1.PatchOptions{
		FieldManager: how.manager, Force: &how.force, DryRun: dryRun(how.preview),
	})
	if apierrors.IsConflict(err) {
		return nil, errors.Join(
			errors.New("server-side apply field conflict detected, see https://www.pulumi.com/registry/packages/kubernetes/"+
				"how-to-guides/managing-resources-with-server-side-apply/#handle-field-conflicts-on-existing-resources "+
				"for troubleshooting help"),
			fmt.Errorf("The resource managed by field manager %q had an apply conflict: %w", how.manager, err), //nolint:staticcheck // as the official provider says it
		)
	}
	return live, err
}

// forces reports whether the user wants to take over fields of other managers.
func (o *Objects) forces(inputs *unstructured.Unstructured) bool {
	return isSet(inputs, patchForce) || cluster.On(o.connection.Settings.EnablePatchForce)
}
