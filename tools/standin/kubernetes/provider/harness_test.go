package provider_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/provider"
)

// engine keeps the logs of a provider.
type engine struct {
	pulumirpc.UnimplementedEngineServer

	mu   sync.Mutex
	logs []*pulumirpc.LogRequest
}

func (e *engine) Log(_ context.Context, request *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.logs = append(e.logs, request)
	return &emptypb.Empty{}, nil
}

// lasting returns the messages that stay on the screen.
func (e *engine) lasting() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lasting := []string{}
	for _, log := range e.logs {
		if !log.GetEphemeral() {
			lasting = append(lasting, log.GetMessage())
		}
	}
	return lasting
}

// harness is the provider as the engine sees it.
type harness struct {
	*provider.Provider
	t      *testing.T
	engine *engine
}

// start returns a provider that is not configured.
func start(t *testing.T) harness {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, log := grpc.NewServer(), &engine{}
	pulumirpc.RegisterEngineServer(server, log)
	go func() { _ = server.Serve(listener) }() // until the test ends
	t.Cleanup(server.Stop)
	host, err := pprovider.NewHostClient(listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, host.Close()) })
	return harness{Provider: provider.New(host, "4.30.0"), t: t, engine: log}
}

// startOn returns a provider that is configured with the kubeconfig of the shared control plane and other inputs.
func startOn(t *testing.T, inputs map[string]any) harness {
	t.Helper()
	all := map[string]any{"kubeconfig": sharedControlPlane(t).kubeconfig}
	for name, value := range inputs {
		all[name] = value
	}
	h := start(t)
	h.configure(all)
	return h
}

func (h harness) configure(inputs map[string]any) {
	h.t.Helper()
	_, err := h.Configure(h.t.Context(), &pulumirpc.ConfigureRequest{Args: h.wire(props(inputs))})
	require.NoError(h.t, err)
}

// newNamespace creates a namespace for the test and returns its name.
func newNamespace(t *testing.T) string {
	t.Helper()
	made, err := sharedControlPlane(t).client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return made.Name
}

func urn(token, name string) string {
	return "urn:pulumi:test::em-infra::" + token + "::" + name
}

// check returns the checked inputs. given are the new inputs, old the former ones.
func (h harness) check(urn string, given, old resource.PropertyMap) resource.PropertyMap {
	h.t.Helper()
	response, err := h.Check(h.t.Context(), &pulumirpc.CheckRequest{Urn: urn, News: h.wire(given), Olds: h.wire(old)})
	require.NoError(h.t, err)
	require.Empty(h.t, response.GetFailures())
	return h.read(response.GetInputs())
}

// failures returns the failures of a check, each as "property: reason".
func (h harness) failures(urn string, given resource.PropertyMap) []string {
	h.t.Helper()
	response, err := h.Check(h.t.Context(), &pulumirpc.CheckRequest{Urn: urn, News: h.wire(given)})
	require.NoError(h.t, err)
	failures := []string{}
	for _, failure := range response.GetFailures() {
		failures = append(failures, failure.GetProperty()+": "+failure.GetReason())
	}
	return failures
}

// made is a resource that a test created.
type made struct {
	h      harness
	urn    string
	id     string
	inputs resource.PropertyMap
	state  resource.PropertyMap
}

// patience is how many seconds a test waits for an event. It is long because the machine may be busy.
const patience = 600

// create checks and creates a resource.
func (h harness) create(token, name string, given resource.PropertyMap) (*made, error) {
	h.t.Helper()
	m := &made{h: h, urn: urn(token, name)}
	m.inputs = h.check(m.urn, given, nil)
	response, err := h.Create(h.t.Context(), &pulumirpc.CreateRequest{Urn: m.urn, Properties: h.wire(m.inputs), Timeout: patience})
	if err != nil {
		m.id, m.state = h.partial(err)
		return m, err
	}
	m.id, m.state = response.GetId(), h.read(response.GetProperties())
	return m, nil
}

func (h harness) mustCreate(token, name string, given resource.PropertyMap) *made {
	h.t.Helper()
	m, err := h.create(token, name, given)
	require.NoError(h.t, err)
	return m
}

// partial returns what an error leaves in the state; nothing for most errors.
func (h harness) partial(err error) (string, resource.PropertyMap) {
	h.t.Helper()
	converted, ok := rpcerror.FromError(err)
	if !ok {
		return "", nil
	}
	for _, detail := range converted.Details() {
		if left, ok := detail.(*pulumirpc.ErrorResourceInitFailed); ok {
			return left.GetId(), h.read(left.GetProperties())
		}
	}
	return "", nil
}

// diff returns the changes of other inputs, each as "path: KIND".
func (m *made) diff(given resource.PropertyMap) (changes []string, deleteFirst bool) {
	m.h.t.Helper()
	response, err := m.h.Diff(m.h.t.Context(), &pulumirpc.DiffRequest{
		Urn: m.urn, Id: m.id, Olds: m.h.wire(m.state), News: m.h.wire(m.h.check(m.urn, given, m.inputs)),
	})
	require.NoError(m.h.t, err)
	changes = []string{}
	for _, path := range response.GetDiffs() {
		changes = append(changes, path+": "+response.GetDetailedDiff()[path].GetKind().String())
	}
	return changes, response.GetDeleteBeforeReplace()
}

func (m *made) update(given resource.PropertyMap) error {
	m.h.t.Helper()
	inputs := m.h.check(m.urn, given, m.inputs)
	response, err := m.h.Update(m.h.t.Context(), &pulumirpc.UpdateRequest{
		Urn: m.urn, Id: m.id, Olds: m.h.wire(m.state), News: m.h.wire(inputs), Timeout: patience,
	})
	if err != nil {
		if _, left := m.h.partial(err); left != nil {
			m.inputs, m.state = inputs, left
		}
		return err
	}
	m.inputs, m.state = inputs, m.h.read(response.GetProperties())
	return nil
}

// refresh reads the resource and reports whether it exists.
func (m *made) refresh() bool {
	m.h.t.Helper()
	response, err := m.h.Read(m.h.t.Context(), &pulumirpc.ReadRequest{
		Urn: m.urn, Id: m.id, Properties: m.h.wire(m.state), Inputs: m.h.wire(m.inputs),
	})
	require.NoError(m.h.t, err)
	if response.GetId() == "" {
		return false
	}
	m.state, m.inputs = m.h.read(response.GetProperties()), m.h.read(response.GetInputs())
	return true
}

func (m *made) delete() error {
	m.h.t.Helper()
	_, err := m.h.Delete(m.h.t.Context(), &pulumirpc.DeleteRequest{
		Urn: m.urn, Id: m.id, Properties: m.h.wire(m.state), Timeout: patience,
	})
	return err
}

var marshalOptions = plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true}

func (h harness) wire(properties resource.PropertyMap) *structpb.Struct {
	h.t.Helper()
	wire, err := plugin.MarshalProperties(properties, marshalOptions)
	require.NoError(h.t, err)
	return wire
}

func (h harness) read(wire *structpb.Struct) resource.PropertyMap {
	h.t.Helper()
	properties, err := plugin.UnmarshalProperties(wire, marshalOptions)
	require.NoError(h.t, err)
	return properties
}

// props converts plain Go values to properties.
func props(values map[string]any) resource.PropertyMap { return resource.NewPropertyMapFromMap(values) }

// object returns the inputs of an object: those that the SDK sends, and more.
func object(apiVersion, kind string, metadata map[string]any, more map[string]any) resource.PropertyMap {
	all := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for name, value := range more {
		all[name] = value
	}
	return props(all)
}

func contains(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}
