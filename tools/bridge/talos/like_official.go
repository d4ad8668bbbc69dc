package talos

import (
	"context"

	pf "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/pf/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"
)

// resolvedApplyMode is an output of the official plugin, which is built from v0.10.1 of the Terraform provider. v0.8.0 does not
// have it. It is the mode in which a configuration is applied. In every case that v0.8.0 knows, that is the requested mode
// (talos_machine_configuration_apply_resource.go, handleRebootPrevention). If it is missing in a state, the official plugin applies
// the configuration once more. It is added to the answers of the bridge. The bridge itself would record it as a property that the
// provider does not have, and the official plugin would read that record.
const (
	typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"
	applyMode         = "applyMode"
	resolvedApplyMode = "resolvedApplyMode"
)

// Server returns the function with which the engine starts the provider. The version is a semantic version without a leading v.
func Server(ctx context.Context, version string) func(*pprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
	return func(host *pprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		metadata, err := Metadata(version)
		if err != nil {
			return nil, err
		}
		server, err := pf.NewProviderServer(ctx, host, Provider(version), metadata)
		return likeOfficial{server}, err
	}
}

// likeOfficial writes the states of configurations as the official plugin does.
type likeOfficial struct {
	pulumirpc.ResourceProviderServer
}

// Create creates a resource.
func (l likeOfficial) Create(ctx context.Context, request *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	response, err := l.ResourceProviderServer.Create(ctx, request)
	addResolvedMode(request.GetUrn(), response.GetProperties())
	return response, err
}

// Update updates a resource.
func (l likeOfficial) Update(ctx context.Context, request *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	response, err := l.ResourceProviderServer.Update(ctx, request)
	addResolvedMode(request.GetUrn(), response.GetProperties())
	return response, err
}

// Read reads a resource.
func (l likeOfficial) Read(ctx context.Context, request *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	response, err := l.ResourceProviderServer.Read(ctx, request)
	addResolvedMode(request.GetUrn(), response.GetProperties())
	return response, err
}

func addResolvedMode(urn string, outputs *structpb.Struct) {
	if mode, found := outputs.GetFields()[applyMode]; found && resource.URN(urn).Type() == typeConfiguration {
		outputs.Fields[resolvedApplyMode] = mode
	}
}

// withoutResolvedMode makes the provider read states as v0.8.0 would have written them.
func withoutResolvedMode(info *tfbridge.ResourceInfo) *tfbridge.ResourceInfo {
	info.TransformFromState = func(_ context.Context, state resource.PropertyMap) (resource.PropertyMap, error) {
		known := state.Copy()
		delete(known, resolvedApplyMode)
		return known, nil
	}
	return info
}
