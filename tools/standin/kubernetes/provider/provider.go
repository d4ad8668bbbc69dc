// Package provider is a stand-in for the Pulumi provider kubernetes. It serves objects of any kind and Helm releases
// with the inputs, outputs and semantics of the official provider, which is published as no Go module. It is test
// equipment: where the official plugin can be installed, that one is used.
package provider

import (
	"context"
	"errors"
	"sync"

	pprovider "github.com/pulumi/pulumi/pkg/v3/resource/provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/object"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/release"
)

// Name is the package name in every token, and the NAME of the binary pulumi-resource-NAME.
const Name = "kubernetes"

// Notice is logged when an operation configures the provider, so that nobody takes it for the official one.
const Notice = "em-infra's stand-in for the provider kubernetes: serves objects and helm.sh/v3 releases, for tests"

// Provider is the provider as the engine sees it (pulumirpc.ResourceProviderServer). What it does not have it answers
// with Unimplemented: functions, components (yaml/v2, helm.sh/v4, kustomize/v2) and the schema.
type Provider struct {
	pulumirpc.UnimplementedResourceProviderServer

	host    *pprovider.HostClient
	version string // without the v
	cancel  context.CancelFunc
	ended   context.Context // nothing is begun once this is

	mu         sync.Mutex
	connection *cluster.Connection // nil until Configure
}

// New makes the provider. Host may be nil: nothing is logged then.
func New(host *pprovider.HostClient, version string) *Provider {
	ended, cancel := context.WithCancel(context.Background())
	return &Provider{host: host, version: version, ended: ended, cancel: cancel}
}

// GetPluginInfo tells the version.
func (p *Provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: p.version}, nil
}

// Attach connects the provider with an engine that did not start it.
func (p *Provider) Attach(_ context.Context, request *pulumirpc.PluginAttach) (*emptypb.Empty, error) {
	host, err := pprovider.NewHostClient(request.GetAddress())
	if err != nil {
		return nil, err
	}
	p.host = host
	return &emptypb.Empty{}, nil
}

// Cancel ends what is under way.
func (p *Provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	p.cancel()
	return &emptypb.Empty{}, nil
}

// begin is the context of a request: it ends with the request, and with Cancel.
func (p *Provider) begin(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.ended, cancel)
	return ctx, func() { stop(); cancel() }
}

var errNotConfigured = errors.New("the provider kubernetes was not configured")

func (p *Provider) connected() (*cluster.Connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.connection == nil {
		return nil, errNotConfigured
	}
	return p.connection, nil
}

// server serves the type of a resource.
func (p *Provider) server(urn resource.URN) (operation.Server, error) {
	connection, err := p.connected()
	if err != nil {
		return nil, err
	}
	if urn.Type() == release.Token {
		return release.New(connection, p), nil
	}
	return object.New(connection, p), nil
}

// Log shows the user a line. A line that the engine does not take is lost: it is about to say more itself.
func (p *Provider) Log(ctx context.Context, severity diag.Severity, urn resource.URN, message string) {
	if p.host != nil {
		_ = p.host.Log(ctx, severity, urn, message) // see above
	}
}

// Status shows the user a line while it is the latest of a resource.
func (p *Provider) Status(ctx context.Context, severity diag.Severity, urn resource.URN, message string) {
	if p.host != nil {
		_ = p.host.LogStatus(ctx, severity, urn, message) // as in Log
	}
}
