package provider

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// ambient is logged when there is no kubeconfig among the inputs. The official provider takes the ambient one too, and
// says nothing.
const ambient = "the provider kubernetes was given no kubeconfig: it uses the one of the environment " +
	"(KUBECONFIG, else .kube/config in the home folder)"

// CheckConfig lists the inputs that the official provider has not, or that are not served here.
func (p *Provider) CheckConfig(_ context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	inputs, err := properties.FromWire(request.GetNews())
	if err != nil {
		return nil, err
	}
	return &pulumirpc.CheckResponse{
		Inputs: request.GetNews(), Failures: failures(cluster.CheckSettings(inputs)),
	}, nil
}

func failures(found []operation.Failure) []*pulumirpc.CheckFailure {
	var wire []*pulumirpc.CheckFailure
	for _, failure := range found {
		wire = append(wire, &pulumirpc.CheckFailure{Property: failure.Property, Reason: failure.Reason})
	}
	return wire
}

// whereTo are the inputs that lead to a cluster.
var whereTo = []resource.PropertyKey{"kubeconfig", "context", "cluster"}

// DiffConfig reports whether a change leads to another cluster, which replaces the provider and all that it made. It goes
// by the identifier where that stands on both sides, else by what the kubeconfigs tell, and by the worst while they are
// not known.
func (p *Provider) DiffConfig(_ context.Context, request *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	olds, err := properties.FromWire(request.GetOlds())
	if err != nil {
		return nil, err
	}
	news, err := properties.FromWire(request.GetNews())
	if err != nil {
		return nil, err
	}
	diff := olds.Diff(news)
	if diff == nil {
		return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE}, nil
	}
	response := &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_SOME}
	for _, name := range diff.ChangedKeys() {
		response.Diffs = append(response.Diffs, string(name))
	}
	slices.Sort(response.Diffs)
	response.Replaces, err = replacements(olds, news, diff)
	return response, err
}

func replacements(olds, news resource.PropertyMap, diff *resource.ObjectDiff) ([]string, error) {
	const identifier = "clusterIdentifier"
	if diff.Same(identifier) && news.HasValue(identifier) {
		return nil, nil
	}
	var replaces []string
	if diff.Updated(identifier) {
		replaces = append(replaces, identifier)
	}
	for _, name := range whereTo {
		if news[name].ContainsUnknowns() {
			return append(replaces, string(name)), nil
		}
	}
	before, err := cluster.ParseSettings(olds)
	if err != nil {
		return nil, err
	}
	after, err := cluster.ParseSettings(news)
	if err != nil {
		return nil, err
	}
	same, err := cluster.SameCluster(before, after)
	if err != nil || same {
		return replaces, err
	}
	for _, name := range whereTo {
		if diff.Changed(name) {
			replaces = append(replaces, string(name))
		}
	}
	return replaces, nil
}

// Configure connects to the cluster. One that cannot be reached is no error: what needs it fails later.
func (p *Provider) Configure(
	ctx context.Context, request *pulumirpc.ConfigureRequest,
) (*pulumirpc.ConfigureResponse, error) {
	ctx, done := p.begin(ctx)
	defer done()
	inputs, err := properties.FromWire(request.GetArgs())
	if err != nil {
		return nil, err
	}
	settings, err := cluster.ParseSettings(inputs)
	if err != nil {
		return nil, err
	}
	p.Log(ctx, diag.Info, "", Notice)
	if settings.Kubeconfig == "" {
		p.Log(ctx, diag.Warning, "", ambient)
	}
	connection := cluster.Connect(ctx, settings)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connection = connection
	return &pulumirpc.ConfigureResponse{
		AcceptSecrets: true, SupportsPreview: true, SupportsAutonamingConfiguration: true,
	}, nil
}
