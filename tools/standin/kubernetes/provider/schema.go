package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/release"
)

// typeSpec, resourceSpec and packageSpec are the used parts of a package schema (pkg/codegen/schema of Pulumi).
type typeSpec struct {
	Type  string    `json:"type"`
	Items *typeSpec `json:"items,omitempty"`
	// AdditionalProperties is the type of an object's values: anything.
	AdditionalProperties map[string]string `json:"additionalProperties,omitempty"`
}

type resourceSpec struct {
	Description     string              `json:"description,omitempty"`
	InputProperties map[string]typeSpec `json:"inputProperties"`
	RequiredInputs  []string            `json:"requiredInputs,omitempty"`
	Properties      map[string]typeSpec `json:"properties,omitempty"`
}

type packageSpec struct {
	Name        string                  `json:"name"`
	Version     string                  `json:"version"`
	Description string                  `json:"description"`
	Provider    resourceSpec            `json:"provider"`
	Resources   map[string]resourceSpec `json:"resources"`
}

// GetSchema returns the schema of the provider's and the releases' inputs. It does not contain objects, whose properties are those
// of the Kubernetes API.
func (p *Provider) GetSchema(
	context.Context, *pulumirpc.GetSchemaRequest,
) (*pulumirpc.GetSchemaResponse, error) {
	state := release.Inputs()
	maps.Copy(state, release.Outputs())
	text, err := json.Marshal(packageSpec{
		Name: Name, Version: p.version,
		Description: "A stand-in for the Pulumi provider kubernetes. It serves objects of every kind, which are not listed here.",
		Provider:    resourceSpec{InputProperties: specs(cluster.Inputs())},
		Resources: map[string]resourceSpec{string(release.Token): {
			InputProperties: specs(release.Inputs()), RequiredInputs: []string{"chart"}, Properties: specs(state),
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return &pulumirpc.GetSchemaResponse{Schema: string(text)}, nil
}

func specs(types map[string]string) map[string]typeSpec {
	anything := map[string]string{"$ref": "pulumi.json#/Any"}
	specs := map[string]typeSpec{}
	for name, kind := range types {
		spec := typeSpec{Type: kind}
		switch kind {
		case "object":
			spec.AdditionalProperties = anything
		case "array":
			spec.Items = &typeSpec{Type: "string"}
		}
		specs[name] = spec
	}
	return specs
}
