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

// ambient is logged if the inputs contain no kubeconfig. The official provider also uses the one of the environment, but does not
// log that.
const ambient = "the provider kubernetes was given no kubeconfig: it uses the one of the environment " +
	"(KUBECONFIG, else .kube/config in the home folder)"

// CheckConfig returns a failure for each input that the official provider does not have, or that the stand-in does not support.
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

// whereTo are the inputs that select a cluster.
var whereTo = []resource.PropertyKey{"kubeconfig", "context", "cluster"}

// DiffConfig reports whether a change selects another cluster. Another cluster replaces the provider and all its resources.
// DiffConfig compares the identifiers if both sides have one, else the kubeconfigs. While an input that selects the cluster is
// unknown, it assumes another cluster.
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

// Configure connects to the cluster. An unreachable cluster is no error here: the operations that need it fail later.
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
