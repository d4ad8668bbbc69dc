package release

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/postrender"
	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Update upgrades a release. With atomic, a failed upgrade is rolled back.
func (r *Releases) Update(ctx context.Context, request operation.Update) (operation.Live, error) {
	in, err := decode(request.Inputs)
	if err != nil {
		return operation.Live{}, err
	}
	if request.Preview {
		return operation.Live{State: checkpoint(request.Inputs, in, nil)}, nil
	}
	if r.connection.Unreachable != "" {
		return operation.Live{}, fmt.Errorf("can't update Helm Release with unreachable cluster: %s", r.connection.Unreachable)
	}
	configuration, err := r.configuration(in.Namespace)
	if err != nil {
		return operation.Live{}, err
	}
	deployed, failure := r.upgrade(ctx, configuration, in)
	if failure != nil {
		if deployed == nil || errors.Is(failure, driver.ErrNoDeployedReleases) {
			return operation.Live{}, failure
		}
		failure = fmt.Errorf("Helm release %q failed to initialize completely. Use Helm CLI to investigate: %w", //nolint:staticcheck // as the official provider says it
			in.id(), unavailable(in, failure))
	}
	return kept(request.Inputs, in, deployed, failure)
}

// upgrade upgrades the release. With an error it also returns the revision that failed, if there is one.
func (r *Releases) upgrade(ctx context.Context, configuration *action.Configuration, in inputs) (*helm.Release, error) {
	loaded, path, err := r.load(in)
	if err != nil {
		return nil, err
	}
	values := merge(nil, in.Values)
	if in.Lint {
		if err := lint(path, values); err != nil {
			return nil, err
		}
	}
	upgrade := action.NewUpgrade(configuration)
	upgrade.Namespace, upgrade.Devel, upgrade.Description = in.Namespace, in.Devel, in.Description
	upgrade.Wait, upgrade.WaitForJobs = !in.SkipAwait, !in.SkipAwait && in.WaitForJobs
	upgrade.Timeout, upgrade.Atomic, upgrade.CleanupOnFail = in.patience(), in.Atomic, in.CleanupOnFail
	upgrade.DisableHooks, upgrade.SubNotes = in.DisableCRDHooks, in.RenderSubchartNotes
	upgrade.Force, upgrade.Recreate = in.ForceUpdate, in.RecreatePods
	upgrade.ResetValues, upgrade.ReuseValues = in.ResetValues, in.ReuseValues
	upgrade.MaxHistory = 0 // no limit
	if in.MaxHistory != nil {
		upgrade.MaxHistory = *in.MaxHistory
	}
	if in.Postrender != "" {
		if upgrade.PostRenderer, err = postrender.NewExec(in.Postrender); err != nil {
			return nil, err
		}
	}
	return upgrade.RunWithContext(ctx, in.Name, loaded, values)
}

func lint(path string, values map[string]any) error {
	result := action.NewLint().Run([]string{path}, values)
	if len(result.Errors) == 0 {
		return nil
	}
	var lines []string
	for _, problem := range result.Errors {
		lines = append(lines, problem.Error())
	}
	return fmt.Errorf("malformed chart or values: \n\t%s", strings.Join(lines, "\n\t"))
}
