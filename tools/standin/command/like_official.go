package command

import (
	"context"

	provider "github.com/pulumi/pulumi-go-provider"
	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/structpb"
)

// frameworkVersion is the version that the framework of the official provider writes into the inputs of each provider resource.
// pulumi-command v1.2.1 is built with pulumi-go-provider v1.3.0, whose file .version says 1.2.0. The framework of the stand-in has
// another version. Without frameworkVersion the provider would change whenever a state moves from one plugin to the other.
const (
	frameworkVersionKey = "__pulumi-go-provider-version"
	frameworkVersion    = "1.2.0"
)

// Server returns the function with which the engine starts the provider. The version is a semantic version without a leading v.
func Server(version string) func(*pprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
	return func(host *pprovider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		server, err := provider.RawServer(Name, version, New())(host)
		return likeOfficial{server}, err
	}
}

// likeOfficial is the stand-in with the provider inputs of the official provider.
type likeOfficial struct {
	pulumirpc.ResourceProviderServer
}

// CheckConfig returns the inputs of the provider resource.
func (l likeOfficial) CheckConfig(ctx context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	response, err := l.ResourceProviderServer.CheckConfig(ctx, request)
	if inputs := response.GetInputs(); inputs != nil {
		inputs.Fields[frameworkVersionKey] = structpb.NewStringValue(frameworkVersion)
	}
	return response, err
}
