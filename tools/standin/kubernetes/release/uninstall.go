package release

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"helm.sh/helm/v3/pkg/action"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
)

// Delete uninstalls a release. It waits until the objects are gone, unless the release was installed without waiting.
func (r *Releases) Delete(ctx context.Context, request operation.Delete) error {
	if r.connection.Unreachable != "" {
		return fmt.Errorf("can't delete Helm Release with unreachable cluster. Reason: %q", r.connection.Unreachable)
	}
	in, err := decodeState(request.State)
	if err != nil {
		return err
	}
	configuration, err := r.configuration(in.Namespace)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(configuration)
	if in.Atomic || !in.SkipAwait {
		uninstall.Wait, uninstall.Timeout = true, in.patience()
	}
	done, err := uninstall.Run(in.Name)
	if err != nil {
		return err
	}
	if done.Info != "" {
		r.log.Log(ctx, diag.Warning, request.URN, fmt.Sprintf("Helm uninstall returned information: %q", done.Info))
	}
	return nil
}
