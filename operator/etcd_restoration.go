package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/removal"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// restorer restores etcd in an up that is to do that, or goes on with a restore that a killed run has begun.
type restorer struct {
	*Operator

	engine  *stackEngine
	own     *ownResources
	cluster clusterInState
	etcd    clusterEtcd
	api     kubernetesAPI
	host    pve.Connection
	asked   *EtcdRestoreOptions // nil unless etcd is to be restored
	plan    *restorePlan        // nil unless that is a dry run
	restore *etcdRestoration    // nil for none
}

// restorer returns the restorer of a run. asked is nil unless the run is to restore etcd, plan is nil unless that is a dry run.
func (s *session) restorer(asked *EtcdRestoreOptions, plan *restorePlan) *restorer {
	return &restorer{
		Operator: s.Operator, engine: s.engine, own: s.own, cluster: s.inState(), etcd: s.etcd(), api: s.kubernetesAPI(), host: s.host,
		asked: asked, plan: plan,
	}
}

// restores reports whether the run restores etcd.
func (s *restorer) restores() bool { return s.restore != nil }

// spares reports whether a run touches nothing on the NAS. Such a run is not refused if the NAS does not answer or refuses the login: etcd is
// restored without it.
func (s *restorer) spares(of span.Span) bool { return s.asked != nil || !of.ReachesNAS() }

// etcdRestoration is the restore of etcd in a run.
type etcdRestoration struct {
	note     etcdrestore.Note
	health   nodeops.Health   // of all nodes of the inventory
	seen     etcdrestore.Seen // when the run began
	snapshot EtcdSnapshot
	opened   *etcdsnapshot.Opened
	isDone   bool // etcd works with the data of the snapshot
	away     []string
}

// PrepareRestore implements [upRestore].
func (s *restorer) PrepareRestore(ctx context.Context, of span.Span) error {
	administrator, err := s.cluster.administrator(ctx)
	if err != nil {
		return err
	}
	begun, err := s.restoreNotes().Of(administrator)
	if err != nil {
		return refused(err)
	}
	if begun == nil && s.asked == nil {
		return nil
	}
	if of != span.Whole() {
		return refused(s.cluster.place.CompleteError(errors.New("a restore of etcd was begun and has not ended: run `em-infra etcd restore` first, which goes on from there")))
	}
	r, err := s.newEtcdRestoration(ctx)
	if err != nil {
		return err
	}
	if begun != nil {
		if r, err = s.resumed(r, *begun); err != nil {
			return err
		}
	}
	if r.note.Snapshot == "" && s.asked == nil {
		return nil
	}
	if r.note.Snapshot == "" {
		if err := s.chooseSnapshot(ctx, r); err != nil {
			return err
		}
	}
	s.restore = r
	return s.openSnapshot(ctx, r)
}

// newEtcdRestoration looks at the control planes of the inventory.
func (s *restorer) newEtcdRestoration(ctx context.Context) (*etcdRestoration, error) {
	talosconfig, err := s.cluster.administrator(ctx)
	if err != nil {
		return nil, err
	}
	if talosconfig == nil {
		return nil, refused(s.cluster.place.CompleteError(errors.New("the state has no machine secrets: bring the cluster up first with `em-infra up`")))
	}
	r := &etcdRestoration{health: nodeops.Health{Talosconfig: talosconfig, Say: s.tellRestore}}
	if r.seen.Power, err = s.powerOf(ctx); err != nil {
		return nil, err
	}
	for _, node := range s.cluster.inventory.Nodes {
		r.health.Nodes = append(r.health.Nodes, rolling.Node{Name: node.Name, Address: node.Address, ControlPlane: node.Role == inventory.RoleControlPlane})
	}
	r.seen.ControlPlanes = etcdrestore.Look(ctx, r.health.Talosconfig, r.controlPlanes())
	return r, ctx.Err()
}

func (s *restorer) restoreNotes() etcdrestore.Notes {
	return etcdrestore.Notes{Path: filepath.Join(s.workspace.Snapshots(), etcdsnapshot.RestoreNote)}
}

func (s *restorer) tellRestore(format string, args ...any) {
	s.emit(Progress{Part: "etcd", What: fmt.Sprintf(format, args...)})
}

func (r *etcdRestoration) controlPlanes() []rolling.Node {
	return slices.DeleteFunc(slices.Clone(r.health.Nodes), func(n rolling.Node) bool { return !n.ControlPlane })
}

// risk returns what the restore means for the control planes; nil if there is none, or if it is done already.
func (r *etcdRestoration) risk() *risk.Restore {
	if r == nil || r.isDone {
		return nil
	}
	restore := &risk.Restore{Snapshot: r.note.Snapshot, Revision: r.opened.Revision, On: r.note.On}
	if r.note.Emptied || r.note.Replaces {
		return restore
	}
	for _, node := range r.seen.ControlPlanes {
		if node.Data == etcdrestore.Some {
			restore.Emptied = append(restore.Emptied, node.Name)
		}
	}
	restore.Emptied = append(restore.Emptied, r.seen.SwitchedOff()...)
	return restore
}

// BeginRestore implements [upRestore].
func (s *restorer) BeginRestore(ctx context.Context) (restores bool, err error) {
	r := s.restore
	if r == nil {
		return false, nil
	}
	if r.note.Begun.IsZero() {
		r.note.Begun = s.clock.Now()
	}
	if err := s.restoreNotes().Write(r.note); err != nil {
		return true, err
	}
	s.engine.stack.Workspace().SetEnvVar(removal.RestoredVariable, cmp.Or(r.note.Former, r.note.On))
	data := r.seen.DataOf(r.note.On)
	isThere := data == etcdrestore.None || data == etcdrestore.Some || r.seen.Rebooting(r.note.On)
	if r.note.Replaces || !isThere {
		return true, nil // the control plane is made, or configured, first
	}
	if err := s.runRestore(ctx); err != nil {
		return true, err
	}
	// The removal of a node needs the API. If the API does not answer, the step that needs it reports that.
	_, err = s.api.untilAnswers(ctx, "etcd", startPatience)
	return true, err
}

// runRestore makes etcd work with the data of the snapshot.
func (s *restorer) runRestore(ctx context.Context) error {
	if err := s.restoreOf().Run(ctx); err != nil {
		return s.cluster.place.CompleteError(err)
	}
	s.restore.isDone = true
	return nil
}

func (s *restorer) restoreOf() etcdrestore.Restore {
	r := s.restore
	nodes := r.controlPlanes()
	on := nodes[slices.IndexFunc(nodes, func(n rolling.Node) bool { return n.Name == r.note.On })]
	return etcdrestore.Restore{
		Talosconfig: r.health.Talosconfig, ControlPlanes: nodes, On: on, Emptied: r.note.Emptied, Say: s.tellRestore,
		Snapshot: func() (io.Reader, error) { return r.opened.Reader() },
		Ordered:  slices.DeleteFunc(slices.Clone(r.note.Ordered), func(name string) bool { return !r.seen.Rebooting(name) }),
		NoteOrdered: func(name string) error {
			if slices.Contains(r.note.Ordered, name) {
				return nil
			}
			r.note.Ordered = append(r.note.Ordered, name)
			return s.restoreNotes().Write(r.note)
		},
		NoteEmptied: func() error {
			r.note.Emptied = true
			return s.restoreNotes().Write(r.note)
		},
	}
}

// FinishRestore implements [upRestore]. The kubelets are restarted because etcd is back at an earlier revision: a watch from before the
// restore would wait until etcd reaches the later revisions again.
func (s *restorer) FinishRestore(ctx context.Context) error {
	r := s.restore
	if !r.isDone {
		if err := s.runRestore(ctx); err != nil {
			return err
		}
	}
	away, err := s.restoreOf().Join(ctx)
	if err != nil {
		return s.cluster.place.CompleteError(err)
	}
	for _, node := range away {
		r.away = append(r.away, node.Name)
	}
	if err := r.health.RestartKubelets(ctx, nil); err != nil {
		return fmt.Errorf("etcd is restored: %w", err)
	}
	s.tellRestore("the kubelets are restarted, because time went back to revision %d", r.opened.Revision)
	if err := s.forgetFormer(ctx); err != nil {
		return err
	}
	return s.restoreNotes().End()
}

// forgetFormer deletes the Node of a control plane that has another name now: the snapshot still has the Node under the former name.
func (s *restorer) forgetFormer(ctx context.Context) error {
	former := s.restore.note.Former
	if former == "" {
		return nil
	}
	if _, err := s.api.untilAnswers(ctx, "etcd", startPatience); err != nil {
		return err
	}
	api, err := nodeops.ReachKubernetes(ctx, s.restore.health.Talosconfig)
	if err == nil {
		defer api.Close()
		err = api.DeleteNode(ctx, former)
	}
	if err != nil {
		return fmt.Errorf("etcd is restored, and the Node %s, which is %s now, is not deleted (%w): run `em-infra up` again", former, s.restore.note.On, err)
	}
	s.tellRestore("%s is no longer a Node of the cluster", former)
	return nil
}

// keepJoining makes control planes that the engine switches on join the restored etcd, because the run waits for them to do so. It returns
// a function that ends that.
func (s *restorer) keepJoining(ctx context.Context) (end func()) {
	if s.restore == nil || !s.restore.isDone {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var joining sync.WaitGroup
	joining.Go(func() { s.restoreOf().KeepJoining(ctx) })
	return func() {
		cancel()
		joining.Wait()
	}
}

// restored returns the restore of the run; nil if there was none.
func (s *restorer) restored() *EtcdRestored {
	if s.restore == nil {
		return nil
	}
	return &EtcdRestored{Snapshot: s.restore.snapshot, On: s.restore.note.On, Away: s.restore.away}
}

// restoring returns the control planes that may be configured although no other one has the data of etcd.
func (s *restorer) restoring() []string {
	if s.restore == nil {
		return nil
	}
	return controlPlaneNames(s.cluster.inventory)
}

// close deletes the snapshot in clear.
func (s *restorer) close() error {
	if s.restore == nil || s.restore.opened == nil {
		return nil
	}
	return s.restore.opened.Close()
}
