package release

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Check fills in the name, the namespace and the timeout. It sets the version to that of the chart that it found. So, with a range
// of versions, a newer chart in the range is a change.
func (r *Releases) Check(ctx context.Context, request operation.Check) (operation.Checked, error) {
	if r.connection.Unreachable != "" && cluster.On(r.connection.Settings.SkipUpdateUnreachable) {
		r.log.Log(ctx, diag.Warning, request.URN,
			"Cluster is unreachable but skipUpdateUnreachable flag is set to true, skipping...")
		return operation.Checked{Inputs: request.Old}, nil
	}
	if failures := notInSchema(request.New); len(failures) > 0 {
		return operation.Checked{Inputs: request.New, Failures: failures}, nil
	}
	given := request.New.Copy()
	if err := r.fillIn(request, given); err != nil {
		return operation.Checked{}, err
	}
	in, err := decode(given)
	if err != nil {
		return operation.Checked{}, err
	}
	var failures []operation.Failure
	if !given.ContainsUnknowns() {
		loaded, _, err := r.load(in)
		if err != nil {
			failures = append(failures, operation.Failure{
				Property: "chart", Reason: fmt.Sprintf("%v; check the chart name and repository configuration.", err),
			})
		} else {
			in.Version = loaded.Metadata.Version
		}
	}
	checked := encode(in)
	properties.MarkUnknown(checked, withoutDerived(given))
	properties.MarkSecrets(checked, request.New)
	return operation.Checked{Inputs: checked, Failures: failures}, nil
}

// notInSchema returns a failure for each property that the official schema does not have.
func notInSchema(given resource.PropertyMap) []operation.Failure {
	var failures []operation.Failure
	list := func(given resource.PropertyMap, known map[string]string, prefix string) {
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if known[string(name)] == "" {
				failures = append(failures, operation.Failure{
					Property: prefix + string(name), Reason: "the official schema has no such property of a Release: take it away",
				})
			}
		}
	}
	list(given, Inputs(), "")
	if from := given["repositoryOpts"]; from.IsObject() {
		list(from.ObjectValue(), RepositoryInputs(), "repositoryOpts.")
	}
	if chart := given["chart"]; !chart.HasValue() {
		failures = append(failures, operation.Failure{Property: "chart", Reason: "a Release needs a chart"})
	}
	return failures
}

// fillIn adds the missing inputs of a release.
func (r *Releases) fillIn(request operation.Check, given resource.PropertyMap) error {
	if isEmpty(given["name"]) {
		name, ok := request.Old["name"]
		if !ok {
			made, err := resource.NewUniqueHex(request.URN.Name()+"-", 0, 0)
			if err != nil {
				return fmt.Errorf("make a name for %s: %w", request.URN.Name(), err)
			}
			name = resource.NewProperty(made)
		}
		given["name"] = name
	}
	if isEmpty(given["namespace"]) {
		given["namespace"] = resource.NewProperty(r.connection.Namespace)
	}
	if _, ok := given["timeout"]; !ok && !isTrue(given["skipAwait"]) {
		given["timeout"] = resource.NewProperty(float64(defaultTimeout))
	}
	if isTrue(given["verify"]) && isEmpty(given["keyring"]) {
		given["keyring"] = resource.NewProperty(os.ExpandEnv("$HOME/.gnupg/pubring.gpg"))
	}
	return nil
}

func isEmpty(value resource.PropertyValue) bool {
	return value.IsNull() || value.IsString() && value.StringValue() == ""
}

func isTrue(value resource.PropertyValue) bool { return value.IsBool() && value.BoolValue() }

func withoutDerived(given resource.PropertyMap) resource.PropertyMap {
	rest := given.Copy()
	for name := range derived {
		delete(rest, resource.PropertyKey(name))
	}
	return rest
}
