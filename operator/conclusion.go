package operator

import (
	"context"
	"fmt"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/phase"
)

// conclusion is the end of an up of a platform.
type conclusion struct {
	*Operator

	cluster clusterInState
	sources stackSources
	etcd    clusterEtcd
	byHand  *Checks // what the checks before the run left to a person at a host
}

// run writes the credentials of a cluster that was brought up, and verifies it.
func (c conclusion) run(ctx context.Context) (*UpResult, error) {
	outputs, err := c.cluster.outputs(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.credentials().keep(outputs); err != nil {
		return nil, err
	}
	verification, err := c.verification(ctx)
	if err != nil {
		return nil, err
	}
	report, err := verification.run(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.uncordon(ctx, outputs.Talosconfig); err != nil {
		return nil, err
	}
	if err := c.etcd.send(ctx); err != nil {
		return nil, err
	}
	if err := c.remindOfKit(ctx); err != nil {
		return nil, err
	}
	return &UpResult{
		Kind: KindPlatform, Last: phase.Verify, Outputs: outputs, Report: report, ByHand: *c.byHand,
		Kubeconfig: c.credentials().kubeconfig(), Talosconfig: c.credentials().talosconfig(),
	}, nil
}

// uncordon uncordons the nodes that an interrupted run has left cordoned.
func (c conclusion) uncordon(ctx context.Context, talosconfig string) error {
	api, err := nodeops.ReachKubernetes(ctx, []byte(talosconfig))
	if err != nil {
		return fmt.Errorf("em-infra could not find out whether nodes are still cordoned (%w): run up again", err)
	}
	defer api.Close()
	names, err := api.UncordonAll(ctx)
	c.tellUncordoned(names)
	if err != nil {
		return fmt.Errorf("%w: run up again", err)
	}
	return nil
}
