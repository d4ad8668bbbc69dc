package provider_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
)

func definition(group string) resource.PropertyMap {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", map[string]any{"name": "toys." + group}, map[string]any{
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "toys", "kind": "Toy"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x_kubernetes_preserve_unknown_fields": true,
				}},
			}},
		},
	})
}

// TestCustomResource creates a custom resource before its definition exists, and waits for it. The resource is deleted after the
// definition.
func TestCustomResource(t *testing.T) {
	t.Parallel()
	h, in := startOn(t, nil), newNamespace(t)
	group := in + ".example.org"
	crd := "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
	toy := object(group+"/v1", "Toy", map[string]any{"name": "ball", "namespace": in}, map[string]any{
		"spec": map[string]any{"size": 3, "weight": 0.5},
	})
	token := "kubernetes:" + group + "/v1:Toy"
	ball := &made{h: h, urn: urn(token, "ball"), id: in + "/ball", inputs: h.check(urn(token, "ball"), toy, nil)}
	request := &pulumirpc.CreateRequest{Urn: ball.urn, Properties: h.wire(ball.inputs)}
	type answer struct {
		response *pulumirpc.CreateResponse
		err      error
	}
	answers := make(chan answer)
	go func() {
		response, err := h.Create(t.Context(), request)
		answers <- answer{response, err}
	}()
	defined := h.mustCreate(crd, "toys", definition(group))
	changes, _ := defined.diff(definition(group))
	require.Empty(t, changes)
	created := <-answers
	require.NoError(t, created.err)
	require.Equal(t, ball.id, created.response.GetId())
	ball.state = h.read(created.response.GetProperties())
	changes, _ = ball.diff(toy)
	require.Empty(t, changes)
	bigger := object(group+"/v1", "Toy", map[string]any{"name": "ball", "namespace": in}, map[string]any{
		"spec": map[string]any{"size": 4, "weight": 0.5},
	})
	require.NoError(t, ball.update(bigger))
	require.NoError(t, defined.delete())
	require.False(t, ball.refresh())
	require.NoError(t, ball.delete())
}

func TestKindThatIsNotDefined(t *testing.T) {
	t.Parallel()
	h := startOn(t, nil)
	given := object("nobody.example.org/v1", "Toy", map[string]any{"name": "ball"}, nil)
	inputs := h.check(urn("kubernetes:nobody.example.org/v1:Toy", "ball"), given, nil)
	require.Equal(t, "default", inputs["metadata"].ObjectValue()["namespace"].StringValue())
	preview, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn("kubernetes:nobody.example.org/v1:Toy", "ball"), Properties: h.wire(inputs), Preview: true,
	})
	require.NoError(t, err)
	require.Equal(t, inputs, h.read(preview.GetProperties()))
}
