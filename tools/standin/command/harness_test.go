package command_test

import (
	"context"
	"testing"

	"github.com/pulumi/pulumi-go-provider/integration/fake"
	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/tools/standin/command"
)

const urn = "urn:pulumi:test::em-infra::command:local:Command::probe"

// harness is the provider as the engine sees it, beside an engine that keeps the logs.
type harness struct {
	pulumirpc.ResourceProviderServer
	t      *testing.T
	engine *fake.EngineServer
}

func start(t *testing.T) harness {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	engine := fake.NewEngineServer()
	addr, done, err := fake.StartEngineServer(ctx, engine)
	require.NoError(t, err)
	host, err := pprovider.NewHostClient(addr)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, host.Close())
		stop()
		<-done
	})
	server, err := command.Server("1.2.1")(host)
	require.NoError(t, err)
	return harness{ResourceProviderServer: server, t: t, engine: engine}
}

// create creates the resource and returns its outputs.
func (h harness) create(inputs resource.PropertyMap) (resource.PropertyMap, error) {
	response, err := h.Create(h.t.Context(), &pulumirpc.CreateRequest{Urn: urn, Properties: h.marshal(inputs)})
	if err != nil {
		return nil, err
	}
	require.Regexp(h.t, `^probe[0-9a-f]{8}$`, response.GetId())
	return h.unmarshal(response.GetProperties()), nil
}

func (h harness) mustCreate(inputs resource.PropertyMap) resource.PropertyMap {
	h.t.Helper()
	outputs, err := h.create(inputs)
	require.NoError(h.t, err)
	return outputs
}

func (h harness) update(state, inputs resource.PropertyMap) (resource.PropertyMap, error) {
	response, err := h.Update(h.t.Context(), &pulumirpc.UpdateRequest{
		Id: "probe", Urn: urn, Olds: h.marshal(state), News: h.marshal(inputs),
	})
	return h.unmarshal(response.GetProperties()), err
}

func (h harness) delete(state resource.PropertyMap) error {
	_, err := h.Delete(h.t.Context(), &pulumirpc.DeleteRequest{Id: "probe", Urn: urn, Properties: h.marshal(state)})
	return err
}

var marshalOptions = plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true}

func (h harness) marshal(properties resource.PropertyMap) *structpb.Struct {
	h.t.Helper()
	marshalled, err := plugin.MarshalProperties(properties, marshalOptions)
	require.NoError(h.t, err)
	return marshalled
}

func (h harness) unmarshal(marshalled *structpb.Struct) resource.PropertyMap {
	h.t.Helper()
	properties, err := plugin.UnmarshalProperties(marshalled, marshalOptions)
	require.NoError(h.t, err)
	return properties
}

// props converts plain Go values to properties.
func props(values map[string]any) resource.PropertyMap { return resource.NewPropertyMapFromMap(values) }
