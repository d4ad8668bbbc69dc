package release

import (
	"context"
	"strings"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Read reads the deployed release. The inputs do not change. For an import they are what Helm knows. Helm knows only the name of
// the chart.
func (r *Releases) Read(_ context.Context, request operation.Read) (operation.Live, error) {
	in, err := decodeState(request.State)
	if err != nil {
		return operation.Live{}, err
	}
	if in.Name == "" {
		in.Name = request.ID
		if namespace, name, ok := strings.Cut(request.ID, "/"); ok {
			in.Namespace, in.Name = namespace, name
		}
	}
	configuration, err := r.configuration(in.Namespace)
	if err != nil {
		return operation.Live{}, err
	}
	deployed, err := find(configuration, in.Name)
	if err != nil || deployed == nil {
		return operation.Live{}, err
	}
	now, out, err := describe(in, deployed)
	if err != nil {
		return operation.Live{}, err
	}
	given := inputsOf(request.State)
	if given == nil {
		imported := now
		imported.Timeout = defaultTimeout
		given = encode(imported)
	}
	given = withZeros(given)
	return operation.Live{ID: request.ID, State: checkpoint(given, now, out), Inputs: given}, nil
}
