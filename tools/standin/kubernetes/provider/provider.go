// Package provider is a stand-in for the Pulumi provider kubernetes. It serves objects of any kind and Helm releases, with the
// inputs, outputs and semantics of the official provider, which is not published as a Go module. It is test equipment: the official
// plugin is used where it can be installed.
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

// Name is the package name in every token, and NAME in the binary pulumi-resource-NAME.
const Name = "kubernetes"

// Notice is logged when an operation configures the provider, so that users do not take it for the official provider.
const Notice = "em-infra's stand-in for the provider kubernetes: serves objects and helm.sh/v3 releases, for tests"

// Provider is the provider as the engine sees it (pulumirpc.ResourceProviderServer). It returns Unimplemented for what it does not
// have: functions and components (yaml/v2, helm.sh/v4, kustomize/v2).
type Provider struct {
	pulumirpc.UnimplementedResourceProviderServer

	host    *pprovider.HostClient
	version string // without the v
	cancel  context.CancelFunc
	ended   context.Context // after its end no request is begun

	mu         sync.Mutex
	connection *cluster.Connection // nil until Configure
}

// New returns the provider. If host is nil, nothing is logged.
func New(host *pprovider.HostClient, version string) *Provider {
	ended, cancel := context.WithCancel(context.Background())
	return &Provider{host: host, version: version, ended: ended, cancel: cancel}
}

// GetPluginInfo returns the version.
func (p *Provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: p.version}, nil
}

// Attach connects the provider to an engine that did not start it.
func (p *Provider) Attach(_ context.Context, request *pulumirpc.PluginAttach) (*emptypb.Empty, error) {
	host, err := pprovider.NewHostClient(request.GetAddress())
	if err != nil {
		return nil, err
	}
	p.host = host
	return &emptypb.Empty{}, nil
}

// Cancel cancels all running requests.
func (p *Provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	p.cancel()
	return &emptypb.Empty{}, nil
}

// begin returns the context of a request. It ends with the request, or with Cancel.
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

// server returns the server of a resource's type.
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

// Log shows the user a line. An error of the engine is ignored, since the engine will report more itself.
func (p *Provider) Log(ctx context.Context, severity diag.Severity, urn resource.URN, message string) {
	if p.host != nil {
		_ = p.host.Log(ctx, severity, urn, message) // see above
	}
}

// Status shows the user a line until the next one of the same resource.
func (p *Provider) Status(ctx context.Context, severity diag.Severity, urn resource.URN, message string) {
	if p.host != nil {
		_ = p.host.LogStatus(ctx, severity, urn, message) // as in Log
	}
}
