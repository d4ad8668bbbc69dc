package adoption_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// provider is a provider with what exists by its ID.
type provider struct {
	t       *testing.T
	exists  map[string]resource.PropertyMap
	created []string // for real, by their IDs
	read    []string
}

func (p *provider) Create(_ context.Context, request *pulumirpc.CreateRequest, _ ...grpc.CallOption) (*pulumirpc.CreateResponse, error) {
	inputs := unmarshal(p.t, request.GetProperties())
	if !request.GetPreview() {
		p.created = append(p.created, request.GetName())
		return &pulumirpc.CreateResponse{Id: "made", Properties: request.GetProperties()}, nil
	}
	if inputs.HasValue("fails") {
		return nil, errors.New("no such storage")
	}
	planned := inputs.Copy()
	planned["defaulted"] = resource.NewProperty("by the provider")
	planned["addresses"] = resource.MakeComputed(resource.NewProperty(""))
	planned["cards"] = resource.NewProperty([]resource.PropertyValue{
		resource.NewProperty(resource.PropertyMap{"bridge": resource.NewProperty("vmbr0"), "mac": resource.MakeSecret(resource.MakeComputed(resource.NewProperty("")))}),
	})
	return &pulumirpc.CreateResponse{Properties: marshal(p.t, planned)}, nil
}

func (p *provider) Read(_ context.Context, request *pulumirpc.ReadRequest, _ ...grpc.CallOption) (*pulumirpc.ReadResponse, error) {
	p.read = append(p.read, request.GetId())
	state := unmarshal(p.t, request.GetProperties())
	there, isThere := p.exists[request.GetId()]
	if !isThere {
		return &pulumirpc.ReadResponse{}, nil
	}
	for name, value := range there {
		state[name] = value
	}
	return &pulumirpc.ReadResponse{Id: request.GetId(), Properties: marshal(p.t, state), Inputs: request.GetInputs()}, nil
}

var kept = plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true}

func marshal(t *testing.T, properties resource.PropertyMap) *structpb.Struct {
	t.Helper()
	text, err := plugin.MarshalProperties(properties, kept)
	require.NoError(t, err)
	return text
}

func unmarshal(t *testing.T, properties *structpb.Struct) resource.PropertyMap {
	t.Helper()
	read, err := plugin.UnmarshalProperties(properties, kept)
	require.NoError(t, err)
	return read
}

const stack = "urn:pulumi:k3s-dev::em-infra::"

// request is the creation of a resource.
func request(t *testing.T, kind, name string, inputs map[string]any) *pulumirpc.CreateRequest {
	t.Helper()
	return &pulumirpc.CreateRequest{
		Urn: stack + kind + "::" + name, Name: name, Type: kind, Properties: marshal(t, resource.NewPropertyMapFromMap(inputs)),
	}
}

func TestWhatExistsIsRecordedUnderItsID(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind, id string
		inputs   map[string]any
		version  string // of the schema, where Read has to know it
	}{
		{token.VirtualMachine, "101", map[string]any{"vmId": 101.0}, ""},
		{token.PCIMapping, "rtx3090", map[string]any{"name": "rtx3090"}, ""},
		{token.Configuration, "machine_configuration_apply", map[string]any{"node": "192.168.20.11"}, `{"schema_version":"1"}`},
		{token.Bootstrap, "machine_bootstrap", map[string]any{"node": "192.168.20.11"}, `{"schema_version":"1"}`},
		{token.Release, "kube-system/cilium", map[string]any{"namespace": "kube-system", "name": "cilium"}, ""},
		{"kubernetes:core/v1:Namespace", "flux-system", map[string]any{"metadata": map[string]any{"name": "flux-system"}}, ""},
		{"kubernetes:core/v1:Secret", "flux-system/age", map[string]any{"metadata": map[string]any{"name": "age", "namespace": "flux-system"}}, ""},
	} {
		t.Run(test.kind, func(t *testing.T) {
			t.Parallel()
			api := &provider{t: t, exists: map[string]resource.PropertyMap{test.id: {"running": resource.NewProperty(true)}}}
			var recorder adoption.Recorder
			answer, err := recorder.Create(t.Context(), api, request(t, test.kind, "it", test.inputs))
			require.NoError(t, err)
			require.Equal(t, test.id, answer.GetId())
			want := resource.NewPropertyMapFromMap(test.inputs)
			want["id"], want["running"], want["defaulted"] = resource.NewProperty(test.id), resource.NewProperty(true), resource.NewProperty("by the provider")
			want["cards"] = resource.NewPropertyValue([]any{map[string]any{"bridge": "vmbr0"}})
			if test.version != "" {
				want["__meta"] = resource.NewProperty(test.version)
			}
			require.Equal(t, want, unmarshal(t, answer.GetProperties()))
			require.Empty(t, api.created, "nothing is created")
			require.Empty(t, recorder.Absent())
		})
	}
}

func TestWhatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	api := &provider{t: t}
	var recorder adoption.Recorder
	answer, err := recorder.Create(t.Context(), api, request(t, token.VirtualMachine, "k3s-dev-worker-1-vm", map[string]any{"vmId": 102.0}))
	require.NoError(t, err)
	require.Equal(t, "102", answer.GetId(), "others refer to it")
	require.Empty(t, api.created)
	require.Equal(t, []resource.URN{stack + token.VirtualMachine + "::k3s-dev-worker-1-vm"}, recorder.Absent())
}

func TestACommandIsTakenAsRun(t *testing.T) {
	t.Parallel()
	api := &provider{t: t}
	var recorder adoption.Recorder
	answer, err := recorder.Create(t.Context(), api, request(t, token.Command, "k3s-dev-pool", map[string]any{"create": "em-infra pool ensure k3s-dev"}))
	require.NoError(t, err)
	require.Regexp(t, "^k3s-dev-pool[0-9a-f]{8}$", answer.GetId())
	require.Equal(t, resource.NewPropertyMapFromMap(map[string]any{"create": "em-infra pool ensure k3s-dev", "stdout": "", "stderr": ""}), unmarshal(t, answer.GetProperties()))
	require.Empty(t, api.created)
	require.Empty(t, api.read)
}

func TestWhatChangesNothingIsMade(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{token.Schematic, token.Kubeconfig} {
		api := &provider{t: t}
		var recorder adoption.Recorder
		answer, err := recorder.Create(t.Context(), api, request(t, kind, "it", nil))
		require.NoError(t, err)
		require.Equal(t, "made", answer.GetId())
		require.Equal(t, []string{"it"}, api.created)
	}
}

func TestSecretsAreThoseOfTheCluster(t *testing.T) {
	t.Parallel()
	made := bundle(t)
	secrets, err := adoption.SecretsIn(configured(t, made, machine.TypeControlPlane), now)
	require.NoError(t, err)
	api := &provider{t: t, exists: map[string]resource.PropertyMap{"machine_secrets": {}}}
	recorder := adoption.Recorder{Secrets: secrets}
	answer, err := recorder.Create(t.Context(), api, request(t, token.Secrets, "k3s-dev-secrets", map[string]any{"talosVersion": "v1.12"}))
	require.NoError(t, err)
	require.Empty(t, api.created, "no new secrets are generated")
	outputs := unmarshal(t, answer.GetProperties()).Mappable()
	require.Equal(t, "v1.12", outputs["talosVersion"])
	require.Equal(t, map[string]any{"id": made.Cluster.ID, "secret": made.Cluster.Secret}, outputs["machineSecrets"].(map[string]any)["cluster"])
	require.Equal(t, map[string]any{"bootstrapToken": made.Secrets.BootstrapToken, "secretboxEncryptionSecret": made.Secrets.SecretboxEncryptionSecret}, outputs["machineSecrets"].(map[string]any)["secrets"])
}

func TestWhatIsNotKnownIsAnError(t *testing.T) {
	t.Parallel()
	api := &provider{t: t}
	var recorder adoption.Recorder
	_, err := recorder.Create(t.Context(), api, request(t, "random:index:Pet", "rex", nil))
	require.EqualError(t, err, "rex is a random:index:Pet, of which it is not known how it is adopted")
	_, err = recorder.Create(t.Context(), api, request(t, token.VirtualMachine, "it", map[string]any{"vmId": 101.0, "fails": true}))
	require.EqualError(t, err, "no such storage")
	require.Empty(t, api.created)
}
