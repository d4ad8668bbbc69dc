package release

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/postrender"
	helm "helm.sh/helm/v3/pkg/release"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Create installs a chart and waits until all its objects are ready, unless skipAwait is set. If the release fails but
// still exists, the state keeps it, and the next run upgrades it.
func (r *Releases) Create(ctx context.Context, request operation.Create) (operation.Live, error) {
	in, err := decode(request.Inputs)
	if err != nil {
		return operation.Live{}, err
	}
	if request.Preview {
		return operation.Live{State: checkpoint(request.Inputs, in, nil)}, nil
	}
	if r.connection.Unreachable != "" {
		return operation.Live{}, fmt.Errorf("can't create Helm Release with unreachable cluster: %s", r.connection.Unreachable)
	}
	configuration, err := r.configuration(in.Namespace)
	if err != nil {
		return operation.Live{}, err
	}
	deployed, failure := r.install(ctx, configuration, in)
	if failure != nil {
		if deployed == nil {
			return operation.Live{}, failure
		}
		if left, err := find(configuration, in.Name); err != nil || left == nil {
			return operation.Live{}, failure // the installation was undone
		}
		r.log.Log(ctx, diag.Warning, request.URN, fmt.Sprintf("Helm release %q was created but has a failed status. Use the "+
			"`helm` command to investigate the error, correct it, then retry. Reason: %v", in.Name, failure))
		failure = fmt.Errorf("Helm release %q was created, but failed to initialize completely. Use Helm CLI to "+ //nolint:staticcheck // as the official provider says it
			"investigate: %w", in.id(), unavailable(in, failure))
	}
	return kept(request.Inputs, in, deployed, failure)
}

// unavailable returns a failure in the words of the official provider.
func unavailable(in inputs, failure error) error {
	return fmt.Errorf("failed to become available within allocated timeout. Error: Helm Release %s: %w", in.id(), failure)
}

// kept returns the current state of a release, together with the failure that led to it.
func kept(given resource.PropertyMap, in inputs, deployed *helm.Release, failure error) (operation.Live, error) {
	now, out, err := describe(in, deployed)
	if err != nil {
		return operation.Live{}, err
	}
	live := operation.Live{ID: now.id(), State: checkpoint(given, now, out)}
	if failure != nil {
		return operation.Live{}, &operation.NotReadyError{Live: live, Err: failure}
	}
	return live, nil
}

// install installs the chart. With an error it also returns the release that remains, if there is one.
func (r *Releases) install(ctx context.Context, configuration *action.Configuration, in inputs) (*helm.Release, error) {
	loaded, _, err := r.load(in)
	if err != nil {
		return nil, err
	}
	if err := isInstallable(loaded); err != nil {
		return nil, err
	}
	install := action.NewInstall(configuration)
	install.ReleaseName, install.Namespace, install.CreateNamespace = in.Name, in.Namespace, in.CreateNamespace
	install.Wait, install.WaitForJobs = !in.SkipAwait, !in.SkipAwait && in.WaitForJobs
	install.Timeout, install.Atomic = in.patience(), in.Atomic
	install.SkipCRDs, install.DisableHooks = in.SkipCRDs, in.DisableWebhooks
	install.DisableOpenAPIValidation, install.SubNotes = in.DisableOpenAPIValidation, in.RenderSubchartNotes
	install.Replace, install.Description, install.Devel = in.Replace, in.Description, in.Devel
	if in.Postrender != "" {
		if install.PostRenderer, err = postrender.NewExec(in.Postrender); err != nil {
			return nil, err
		}
	}
	return install.RunWithContext(ctx, loaded, merge(nil, in.Values))
}
