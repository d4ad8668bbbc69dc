package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine"
)

// Output is an output of a stack, as its last run has left it.
type Output struct {
	// Name of the output.
	Name string `json:"name"`
	// Secret is whether the state seals it.
	Secret bool `json:"secret"`
	// Value is what it is; absent for a secret that was not asked for.
	Value any `json:"value,omitempty"`
}

// OutputsOptions are the options of [Operator.Outputs].
type OutputsOptions struct {
	// Name is the only output to return. Default: empty, all of them.
	Name string
	// Secrets returns the values of secrets, too. Default: false.
	Secrets bool
}

// Outputs returns the outputs of the stack, sorted by their names. It reads the state alone.
func (o *Operator) Outputs(ctx context.Context, options OutputsOptions) ([]Output, error) {
	deployment, err := o.deployment(ctx)
	if err != nil {
		return nil, err
	}
	values, err := engine.Outputs(deployment)
	if err != nil {
		return nil, err
	}
	if _, known := values[options.Name]; options.Name != "" && !known {
		return nil, refused(o.remedies().CompleteError(fmt.Errorf("stack %s has no output %q: choose one that `em-infra outputs` shows", o.workspace.Stack, options.Name)))
	}
	found := []Output{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if options.Name != "" && name != options.Name {
			continue
		}
		one := Output{Name: name, Secret: values[name].Secret}
		if !one.Secret || options.Secrets {
			one.Value = values[name].Value
		}
		found = append(found, one)
	}
	return found, nil
}

// Resource is a resource in the state of a stack.
type Resource struct {
	// Type is its type, e.g. proxmoxve:VM/virtualMachine:VirtualMachine.
	Type string `json:"type"`
	// Name is its logical name.
	Name string `json:"name"`
	// URN is its unique name in the state, which Pulumi's commands take.
	URN string `json:"urn"`
	// ID that its provider has given to it; empty for a component.
	ID string `json:"id,omitempty"`
	// Depth is the number of components that contain it.
	Depth int `json:"depth"`
	// Protected is whether the engine refuses to delete it.
	Protected bool `json:"protected,omitempty"`
	// Leaves is whether it was replaced, and is still to be deleted.
	Leaves bool `json:"leaves,omitempty"`
}

// Resources returns what the state of the stack contains: each component before what it is made of, without the stack itself and the
// providers. It reads the state alone.
func (o *Operator) Resources(ctx context.Context) ([]Resource, error) {
	deployment, err := o.deployment(ctx)
	if err != nil {
		return nil, err
	}
	children := map[resource.URN][]apitype.ResourceV3{}
	for _, one := range deployment.Resources {
		children[one.Parent] = append(children[one.Parent], one)
	}
	found := []Resource{}
	var add func(parent resource.URN, depth int)
	add = func(parent resource.URN, depth int) {
		for _, one := range children[parent] {
			switch {
			case one.Type == resource.RootStackType:
				add(one.URN, depth)
				continue
			case one.URN.Type().Package() == "pulumi" && one.URN.Type().Module().Name() == "providers":
				continue
			}
			found = append(found, Resource{
				Type: string(one.Type), Name: one.URN.Name(), URN: string(one.URN), ID: string(one.ID), Depth: depth,
				Protected: one.Protect, Leaves: one.Delete,
			})
			if !one.Delete { // the replacement has the same URN, and the children
				add(one.URN, depth+1)
			}
		}
	}
	add("", 0)
	return found, nil
}

// deployment returns the content of the state, with its secrets in clear.
func (o *Operator) deployment(ctx context.Context) (apitype.DeploymentV3, error) {
	s, _, err := o.beginWithState(ctx, "")
	if err != nil {
		return apitype.DeploymentV3{}, err
	}
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return apitype.DeploymentV3{}, s.place.CompleteError(err)
	}
	if len(exported.Deployment.Resources) == 0 {
		return apitype.DeploymentV3{}, refused(s.place.CompleteError(errors.New("the state of the stack is empty: `em-infra up` fills it")))
	}
	return exported.Deployment, nil
}
