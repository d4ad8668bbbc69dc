package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Check passes the request to the server of the resource's type.
func (p *Provider) Check(ctx context.Context, request *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	ctx, done := p.begin(ctx)
	defer done()
	urn := resource.URN(request.GetUrn())
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	olds, oldErr := properties.FromWire(request.GetOlds())
	news, newErr := properties.FromWire(request.GetNews())
	if err := errors.Join(oldErr, newErr); err != nil {
		return nil, err
	}
	naming := operation.Naming{Seed: request.GetRandomSeed()}
	if wanted := request.GetAutonaming(); wanted != nil {
		naming.Proposed = wanted.GetProposedName()
		naming.Disabled = wanted.GetMode() == pulumirpc.CheckRequest_AutonamingOptions_DISABLE
	}
	checked, err := server.Check(ctx, operation.Check{URN: urn, Old: olds, New: news, Naming: naming})
	if err != nil {
		return nil, err
	}
	inputs, err := properties.ToWire(checked.Inputs)
	return &pulumirpc.CheckResponse{Inputs: inputs, Failures: failures(checked.Failures)}, err
}

// Diff passes the request to the server of the resource's type.
func (p *Provider) Diff(ctx context.Context, request *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	urn := resource.URN(request.GetUrn())
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	state, stateErr := properties.FromWire(request.GetOlds())
	inputs, inputsErr := properties.FromWire(request.GetNews())
	ignored, ignoredErr := paths(request.GetIgnoreChanges())
	if err := errors.Join(stateErr, inputsErr, ignoredErr); err != nil {
		return nil, err
	}
	found, err := server.Diff(ctx, operation.Diff{URN: urn, State: state, Inputs: inputs, Ignored: ignored})
	if err != nil {
		return nil, fmt.Errorf("Failed to check for changes in resource %q: %w", urn, err) //nolint:staticcheck // as the official provider says it
	}
	return diffResponse(found), nil
}

func paths(texts []string) ([]resource.PropertyPath, error) {
	var parsed []resource.PropertyPath
	for _, text := range texts {
		path, err := resource.ParsePropertyPath(text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse ignore path: %w", err)
		}
		parsed = append(parsed, path)
	}
	return parsed, nil
}

func diffResponse(found operation.Difference) *pulumirpc.DiffResponse {
	response := &pulumirpc.DiffResponse{
		Changes: pulumirpc.DiffResponse_DIFF_NONE, HasDetailedDiff: true, DeleteBeforeReplace: found.DeleteBeforeReplace,
		DetailedDiff: map[string]*pulumirpc.PropertyDiff{},
	}
	for _, change := range found.Changes {
		path := change.Path.String()
		response.Changes = pulumirpc.DiffResponse_DIFF_SOME
		response.Diffs = append(response.Diffs, path)
		response.DetailedDiff[path] = &pulumirpc.PropertyDiff{
			Kind: wireKinds[change.Kind][change.Replaces], InputDiff: change.Kind == operation.Deleted,
		}
		if change.Replaces {
			response.Replaces = append(response.Replaces, path)
		}
	}
	return response
}

// wireKinds are the kinds of changes in the protocol, without and with a replacement.
var wireKinds = map[operation.ChangeKind]map[bool]pulumirpc.PropertyDiff_Kind{
	operation.Added:   {false: pulumirpc.PropertyDiff_ADD, true: pulumirpc.PropertyDiff_ADD_REPLACE},
	operation.Updated: {false: pulumirpc.PropertyDiff_UPDATE, true: pulumirpc.PropertyDiff_UPDATE_REPLACE},
	operation.Deleted: {false: pulumirpc.PropertyDiff_DELETE, true: pulumirpc.PropertyDiff_DELETE_REPLACE},
}

// Create passes the request to the server of the resource's type.
func (p *Provider) Create(ctx context.Context, request *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	ctx, done := p.begin(ctx)
	defer done()
	urn := resource.URN(request.GetUrn())
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	inputs, err := properties.FromWire(request.GetProperties())
	if err != nil {
		return nil, err
	}
	live, err := server.Create(ctx, operation.Create{
		URN: urn, Inputs: inputs, Seconds: request.GetTimeout(), Preview: request.GetPreview(),
	})
	if err != nil {
		return nil, notReady(err)
	}
	state, err := properties.ToWire(live.State)
	return &pulumirpc.CreateResponse{Id: live.ID, Properties: state}, err
}

// Update passes the request to the server of the resource's type.
func (p *Provider) Update(ctx context.Context, request *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	ctx, done := p.begin(ctx)
	defer done()
	urn := resource.URN(request.GetUrn())
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	state, stateErr := properties.FromWire(request.GetOlds())
	inputs, inputsErr := properties.FromWire(request.GetNews())
	if err := errors.Join(stateErr, inputsErr); err != nil {
		return nil, err
	}
	live, err := server.Update(ctx, operation.Update{
		URN: urn, State: state, Inputs: inputs, Seconds: request.GetTimeout(), Preview: request.GetPreview(),
	})
	if err != nil {
		return nil, notReady(err)
	}
	now, err := properties.ToWire(live.State)
	return &pulumirpc.UpdateResponse{Properties: now}, err
}

// errUnreachable is the error of a refresh of an unreachable cluster, in the words of the official provider.
var errUnreachable = errors.New("failed to read resource state due to unreachable cluster. If the cluster was deleted, " +
	"you can remove this resource from Pulumi state by rerunning the operation with the PULUMI_K8S_DELETE_UNREACHABLE " +
	"environment variable set to \"true\"")

// Read passes the request to the server of the resource's type. For an unreachable cluster it returns an error, unless the user
// wants the resource to stay as it is, or to be removed from the state.
func (p *Provider) Read(ctx context.Context, request *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	ctx, done := p.begin(ctx)
	defer done()
	connection, err := p.connected()
	if err != nil {
		return nil, err
	}
	urn := resource.URN(request.GetUrn())
	if connection.Unreachable != "" {
		p.Log(ctx, diag.Warning, urn, "configured Kubernetes cluster is unreachable: "+connection.Unreachable)
		switch {
		case cluster.On(connection.Settings.DeleteUnreachable):
			p.Log(ctx, diag.Info, urn, "configured Kubernetes cluster is unreachable and the `deleteUnreachable` option is "+
				"enabled. Deleting the unreachable resource from Pulumi state")
			return &pulumirpc.ReadResponse{}, nil
		case cluster.On(connection.Settings.SkipUpdateUnreachable):
			return &pulumirpc.ReadResponse{
				Id: request.GetId(), Properties: request.GetProperties(), Inputs: request.GetInputs(),
			}, nil
		}
		return nil, errUnreachable
	}
	return p.read(ctx, urn, request)
}

func (p *Provider) read(
	ctx context.Context, urn resource.URN, request *pulumirpc.ReadRequest,
) (*pulumirpc.ReadResponse, error) {
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	state, stateErr := properties.FromWire(request.GetProperties())
	inputs, inputsErr := properties.FromWire(request.GetInputs())
	if err := errors.Join(stateErr, inputsErr); err != nil {
		return nil, err
	}
	live, err := server.Read(ctx, operation.Read{URN: urn, ID: request.GetId(), State: state, Inputs: inputs})
	if err != nil {
		return nil, notReady(err)
	}
	if live.ID == "" {
		return &pulumirpc.ReadResponse{}, nil
	}
	now, nowErr := properties.ToWire(live.State)
	seen, seenErr := properties.ToWire(live.Inputs)
	return &pulumirpc.ReadResponse{Id: live.ID, Properties: now, Inputs: seen}, errors.Join(nowErr, seenErr)
}

// Delete passes the request to the server of the resource's type.
func (p *Provider) Delete(ctx context.Context, request *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	ctx, done := p.begin(ctx)
	defer done()
	urn := resource.URN(request.GetUrn())
	server, err := p.server(urn)
	if err != nil {
		return nil, err
	}
	state, err := properties.FromWire(request.GetProperties())
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, server.Delete(ctx, operation.Delete{
		URN: urn, ID: request.GetId(), State: state, Seconds: request.GetTimeout(),
	})
}

// notReady returns an error that makes the engine keep a resource that exists, but is not as requested.
func notReady(err error) error {
	var found *operation.NotReadyError
	if !errors.As(err, &found) {
		return err
	}
	state, stateErr := properties.ToWire(found.Live.State)
	inputs, inputsErr := properties.ToWire(found.Live.Inputs)
	if failed := errors.Join(stateErr, inputsErr); failed != nil {
		return errors.Join(err, failed)
	}
	detail := &pulumirpc.ErrorResourceInitFailed{
		Id: found.Live.ID, Properties: state, Reasons: append([]string{err.Error()}, found.Reasons...),
	}
	if found.Live.Inputs != nil {
		detail.Inputs = inputs
	}
	return rpcerror.WithDetails(rpcerror.New(codes.Unknown, err.Error()), detail)
}
