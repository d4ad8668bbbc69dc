package operator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
	"github.com/em-infra/em-infra/stacks"
)

// PlanEtcdRestore emits what [Operator.RestoreEtcd] would do with these options, and returns the options with the permissions that it
// needs. It changes nothing in the cluster, and keeps no snapshot of it.
func (o *Operator) PlanEtcdRestore(ctx context.Context, options EtcdRestoreOptions) (_ EtcdRestoreOptions, err error) {
	s, err := o.begin(ctx, needs{lab: true, refresh: true})
	if err != nil {
		return options, err
	}
	plan := &restorePlan{folder: filepath.Join(o.workspace.Snapshots(), "dry-run")}
	defer func() { err = errors.Join(err, plan.end()) }()
	_, err = s.bringUp(ctx, s.restorer(&options, plan), span.Whole(), options.Allow)
	if !errors.Is(err, errDryRun) {
		return options, err
	}
	options.Allow = plan.needs
	return options, nil
}

// errDryRun ends a dry run after the assessment.
var errDryRun = errors.New("dry run")

// restorePlan is a dry run of a restore.
type restorePlan struct {
	// folder has what the control planes have of etcd's data, sealed, until the end.
	folder string
	// needs are the permissions of the person and those that are missing.
	needs []Permission
}

// allow returns the permissions of the person and those that are missing, which the restore needs.
func (p *restorePlan) allow(judged judgement, given []risk.Permission) []risk.Permission {
	p.needs = slices.Concat(given, judged.Missing(given))
	return p.needs
}

// keep keeps a snapshot until the end, and in no bucket.
func (p *restorePlan) keep(ctx context.Context, s *restorer, of nodeops.EtcdSnapshot) (*KeptSnapshot, error) {
	aside, program := *s.cluster.inventory, s.engine.program
	aside.Cluster.Backups.Bucket, program.Snapshots = inventory.BucketURL{}, p.folder
	if _, err := stacks.SnapshotStore(s.workspace.Stack, &aside, program); err != nil {
		return nil, refused(err)
	}
	kept, err := stacks.KeepSnapshot(ctx, s.workspace.Stack, &aside, program, stacks.SnapshotRequest{At: s.clock.Now(), Reason: "before-restore", Of: of})
	return &kept, err
}

// end deletes what was kept.
func (p *restorePlan) end() error { return os.RemoveAll(p.folder) }
