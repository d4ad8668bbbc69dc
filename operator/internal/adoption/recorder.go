package adoption

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Recorder answers the creation of resources with what exists.
type Recorder struct {
	// Secrets are the machine secrets of the cluster.
	Secrets Secrets

	mu     sync.Mutex
	absent []resource.URN
}

// Absent returns the resources that were asked for and do not exist, sorted.
func (r *Recorder) Absent() []resource.URN {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.absent))
}

// Provider is the part of a provider that is called to record something.
type Provider interface {
	Create(ctx context.Context, request *pulumirpc.CreateRequest, options ...grpc.CallOption) (*pulumirpc.CreateResponse, error)
	Read(ctx context.Context, request *pulumirpc.ReadRequest, options ...grpc.CallOption) (*pulumirpc.ReadResponse, error)
}

// harmless are the types whose creation changes nothing that stands: a schematic is a text that the Image Factory knows already or
// takes, and a kubeconfig is signed by a control plane on request.
var harmless = []string{token.Schematic, token.Kubeconfig}

// versioned are the types whose state has the version of its schema beside its properties. A plan has none, and a state without one
// counts as version 0, which Read cannot read.
var versioned = []string{token.Secrets, token.Configuration, token.Bootstrap}

// Create answers a creation: the provider plans the resource, which gives what its outputs have in common with its inputs, and reads it
// under the ID that it has. A resource that does not exist is answered as planned, so that others can be recorded, and is among
// [Recorder.Absent].
func (r *Recorder) Create(ctx context.Context, provider Provider, request *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	urn := resource.URN(request.GetUrn())
	if slices.Contains(harmless, string(urn.Type())) {
		return provider.Create(ctx, request)
	}
	inputs, err := open(request.GetProperties())
	if err != nil {
		return nil, err
	}
	if urn.Type() == token.Command {
		return done(urn, inputs)
	}
	id := idOf(urn, inputs)
	if id == "" {
		return nil, fmt.Errorf("%s is a %s, of which it is not known how it is adopted", urn.Name(), urn.Type())
	}
	planned, err := r.plan(ctx, provider, request)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, provider, request, id, planned)
}

// plan returns what is known of a resource before it is created.
func (r *Recorder) plan(ctx context.Context, provider Provider, request *pulumirpc.CreateRequest) (resource.PropertyMap, error) {
	preview := &pulumirpc.CreateRequest{
		Urn: request.GetUrn(), Name: request.GetName(), Type: request.GetType(), Properties: request.GetProperties(), Timeout: request.GetTimeout(),
		Preview: true,
	}
	answer, err := provider.Create(ctx, preview)
	if err != nil {
		return nil, err
	}
	planned, err := open(answer.GetProperties())
	if err != nil {
		return nil, err
	}
	known, kind := withoutUnknown(planned), string(resource.URN(request.GetUrn()).Type())
	if slices.Contains(versioned, kind) {
		known[recovery.MetaKey] = resource.NewProperty(recovery.TalosMeta)
	}
	if kind == token.Secrets {
		for name, value := range r.Secrets.properties() {
			known[name] = value
		}
	}
	return known, nil
}

// read reads a resource under its ID.
func (r *Recorder) read(ctx context.Context, provider Provider, request *pulumirpc.CreateRequest, id string, planned resource.PropertyMap) (*pulumirpc.CreateResponse, error) {
	planned["id"] = resource.NewProperty(id)
	state, err := seal(planned)
	if err != nil {
		return nil, err
	}
	found, err := provider.Read(ctx, &pulumirpc.ReadRequest{
		Id: id, Urn: request.GetUrn(), Name: request.GetName(), Type: request.GetType(), Properties: state, Inputs: request.GetProperties(),
	})
	if err != nil {
		return nil, err
	}
	if found.GetId() != "" {
		return &pulumirpc.CreateResponse{Id: found.GetId(), Properties: found.GetProperties()}, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent = append(r.absent, resource.URN(request.GetUrn()))
	return &pulumirpc.CreateResponse{Id: id, Properties: state}, nil
}

// done answers the creation of a Command as if it had run: em-infra itself checks before each run what the Command ensures.
func done(urn resource.URN, inputs resource.PropertyMap) (*pulumirpc.CreateResponse, error) {
	outputs := inputs.Copy()
	outputs["stdout"], outputs["stderr"] = resource.NewProperty(""), resource.NewProperty("")
	id, err := resource.NewUniqueHex(urn.Name(), 8, -1) // as the provider names it
	if err != nil {
		return nil, err
	}
	properties, err := seal(outputs)
	return &pulumirpc.CreateResponse{Id: id, Properties: properties}, err
}

// idOf returns the ID that a provider gives an existing resource; empty for a type that is not known.
func idOf(urn resource.URN, inputs resource.PropertyMap) string {
	kind := string(urn.Type())
	switch kind {
	case token.VirtualMachine:
		if vmid := plain(inputs["vmId"]); vmid.IsNumber() {
			return strconv.Itoa(int(vmid.NumberValue()))
		}
	case token.PCIMapping:
		return text(inputs["name"])
	case token.Secrets: // the IDs of these are the same in each state (terraform-provider-talos v0.10.1, pkg/talos)
		return "machine_secrets"
	case token.Configuration:
		return "machine_configuration_apply"
	case token.Bootstrap:
		return "machine_bootstrap"
	case token.Release:
		return text(inputs["namespace"]) + "/" + text(inputs["name"])
	case token.Dataset, token.Service, token.Account: // as internal/truenas/provider names them, which reads what is there by its inputs
		return text(inputs["name"])
	case token.NFSShare:
		return text(inputs["path"])
	case token.ISCSIPortal, token.ISCSIInitiatorGroup:
		return text(inputs["owner"])
	}
	if metadata := plain(inputs["metadata"]); token.IsKubernetes(kind) && metadata.IsObject() {
		name, namespace := text(metadata.ObjectValue()["name"]), text(metadata.ObjectValue()["namespace"])
		if namespace != "" {
			return namespace + "/" + name
		}
		return name
	}
	return ""
}

// open reads properties, with their marks.
func open(properties *structpb.Struct) (resource.PropertyMap, error) {
	return plugin.UnmarshalProperties(properties, plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true, KeepResources: true})
}

// seal is the inverse of open.
func seal(properties resource.PropertyMap) (*structpb.Struct, error) {
	return plugin.MarshalProperties(properties, plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true, KeepResources: true})
}

// text returns a text, also of a secret; empty for another value.
func text(value resource.PropertyValue) string {
	if value = plain(value); value.IsString() {
		return value.StringValue()
	}
	return ""
}

// plain unwraps a secret.
func plain(value resource.PropertyValue) resource.PropertyValue {
	for value.IsSecret() {
		value = value.SecretValue().Element
	}
	return value
}

// withoutUnknown returns an object without what is not known, at any depth.
func withoutUnknown(object resource.PropertyMap) resource.PropertyMap {
	known := resource.PropertyMap{}
	for name, value := range object {
		if value, isKnown := knownPart(value); isKnown {
			known[name] = value
		}
	}
	return known
}

func knownPart(value resource.PropertyValue) (resource.PropertyValue, bool) {
	switch {
	case value.IsComputed(), value.IsOutput():
		return value, false
	case value.IsSecret():
		element, isKnown := knownPart(value.SecretValue().Element)
		return resource.MakeSecret(element), isKnown
	case value.IsObject():
		return resource.NewProperty(withoutUnknown(value.ObjectValue())), true
	case value.IsArray():
		list := []resource.PropertyValue{}
		for _, item := range value.ArrayValue() {
			if item, isKnown := knownPart(item); isKnown {
				list = append(list, item)
			}
		}
		return resource.NewProperty(list), true
	default:
		return value, true
	}
}
