package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// chooseSnapshot chooses the snapshot and the control plane on which etcd starts from it. No matter which snapshot is chosen, what the control
// planes still have of etcd's data is kept before the restore. That can delete older snapshots, so a snapshot that is named is found first and
// stays.
func (s *restorer) chooseSnapshot(ctx context.Context, r *etcdRestoration) error {
	if err := s.checkSilent(r); err != nil {
		return err
	}
	from := s.asked.From
	members, err := r.health.Members(ctx)
	if works := err == nil && len(members) > 0; works && from == "" {
		return refused(s.cluster.place.CompleteError(cmp.Or(r.health.CheckAlarms(ctx),
			fmt.Errorf("etcd works and has %d members, and a restore takes it back in time: if that is meant, give --from the name of one that `em-infra etcd list` shows", len(members)))))
	}
	choose := s.newest
	if from != "" {
		choose = s.named
	}
	chosen, on, err := choose(ctx, r.seen, func(node etcdrestore.ControlPlane) (*KeptSnapshot, error) { return s.salvageFrom(ctx, r.health, node) })
	if err != nil {
		return err
	}
	s.engine.program.SparedSnapshots = []string{chosen.Name} // until the restore has begun and its note names it
	r.snapshot, r.note.Snapshot, r.note.On = *chosen, chosen.Name, on
	return nil
}

// named returns the snapshot that a person has named. What the control planes have of etcd's data is kept as far as that is possible.
func (s *restorer) named(ctx context.Context, seen etcdrestore.Seen, salvageFrom salvager) (chosen *EtcdSnapshot, on string, err error) {
	found, err := s.findSnapshot(ctx, s.asked.From)
	if err != nil {
		return nil, "", err
	}
	s.engine.program.SparedSnapshots = append(s.engine.program.SparedSnapshots, found.Name)
	_, _, lost := s.salvage(seen, salvageFrom)
	for _, problem := range lost {
		s.emit(Note{Text: fmt.Sprintf("warning: %s; the restore deletes it", problem)})
	}
	return &found, seen.Target(), nil
}

// newest keeps what the control planes have of etcd's data, and returns the newest of it; if none has any, it returns the newest snapshot. It
// refuses if the data of a control plane could not be kept: the restore would delete that data, which may be the newest.
func (s *restorer) newest(ctx context.Context, seen etcdrestore.Seen, salvageFrom salvager) (chosen *EtcdSnapshot, on string, err error) {
	chosen, on, lost := s.salvage(seen, salvageFrom)
	if err := errors.Join(lost...); err != nil {
		return nil, "", refused(s.cluster.place.CompleteError(fmt.Errorf("%w: mend that and try again, or choose a snapshot that `em-infra etcd list` shows with --from, which gives that data up", err)))
	}
	if chosen != nil {
		return chosen, on, nil
	}
	found, err := s.findSnapshot(ctx, "")
	if err != nil {
		return nil, "", err
	}
	return &found, seen.Target(), nil
}

// replaceOnly plans the restore on the new machine of the only control plane. It refuses if this run has taken no snapshot, unless an earlier
// run has taken one: then this run goes on with the restore of that run.
func (s *restorer) replaceOnly(ctx context.Context, name string, taken *KeptSnapshot, failed error) error {
	begunOn := ""
	if s.restore != nil {
		begunOn = s.restore.note.On
	}
	if goesOn, err := etcdrestore.CheckOnly(name, taken != nil, begunOn, failed); goesOn || err != nil {
		return s.cluster.place.CompleteError(err)
	}
	if err := s.close(); err != nil {
		return err
	}
	r, err := s.newEtcdRestoration(ctx)
	if err != nil {
		return err
	}
	r.snapshot, r.note = taken.Snapshot, etcdrestore.Note{Snapshot: taken.Name, On: name, Former: s.own.predecessors[name], Replaces: true}
	s.restore = r
	s.etcd.tell(*taken)
	return s.openSnapshot(ctx, r)
}

// checkSilent refuses while a control plane runs and does not answer: with others like it, it may still have a quorum, and two clusters
// with the same keys would run side by side. It also refuses while a majority of the control planes is only switched off.
func (s *restorer) checkSilent(r *etcdRestoration) error {
	vmids := s.vmids()
	return refused(s.cluster.place.CompleteError(cmp.Or(r.seen.StillRun(vmids), r.seen.MajorityIsOff(vmids))))
}

// vmids returns the VMIDs of the nodes by their names.
func (s *restorer) vmids() map[string]int {
	vmids := map[string]int{}
	for _, node := range s.cluster.inventory.Nodes {
		vmids[node.Name] = node.VMID
	}
	return vmids
}

// powerOf returns the status of each node's VM that is there, by the name of the node.
func (s *restorer) powerOf(ctx context.Context) (map[string]string, error) {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return nil, refused(err)
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, refused(s.cluster.place.CompleteError(err))
	}
	power := map[string]string{}
	for _, guest := range guests {
		power[s.nameOf(guest.VMID)] = guest.Status
	}
	return power, nil
}

func (s *restorer) nameOf(vmid int) string {
	for _, node := range s.cluster.inventory.Nodes {
		if node.VMID == vmid {
			return node.Name
		}
	}
	return ""
}

// salvager keeps what a control plane has of etcd's data.
type salvager func(etcdrestore.ControlPlane) (*KeptSnapshot, error)

// salvage keeps what each control plane has of etcd's data, and returns the newest of it and where it is from; nil if none has any. All of it
// stays until one is chosen, although they can be more than the rule of the inventory keeps. lost has an error for each whose data is not kept.
func (s *restorer) salvage(seen etcdrestore.Seen, salvageFrom salvager) (newest *EtcdSnapshot, on string, lost []error) {
	for _, node := range seen.ControlPlanes {
		if node.Data != etcdrestore.Some {
			continue
		}
		saved, err := salvageFrom(node)
		if err != nil {
			lost = append(lost, fmt.Errorf("the data of etcd on %s is not kept (%w)", node.Name, err))
			continue
		}
		s.engine.program.SparedSnapshots = append(s.engine.program.SparedSnapshots, saved.Name)
		s.tellSalvaged(node.Name, *saved)
		if newest == nil || saved.Revision > newest.Revision {
			newest, on = &saved.Snapshot, node.Name
		}
	}
	return newest, on, lost
}

func (s *restorer) salvageFrom(ctx context.Context, health nodeops.Health, node etcdrestore.ControlPlane) (*KeptSnapshot, error) {
	found, err := health.SalvageEtcd(ctx, node.Node)
	if err != nil {
		return nil, err
	}
	if s.plan != nil {
		return s.plan.keep(ctx, s, *found)
	}
	return s.etcd.keep(ctx, "before-restore", *found)
}

// tellSalvaged reports what a control plane still has, and where it is kept.
func (s *restorer) tellSalvaged(name string, saved KeptSnapshot) {
	kept := "kept as " + s.cluster.place.Complete(saved.Text())
	if s.plan != nil {
		kept = "which the restore keeps as a snapshot first"
	}
	s.tellRestore("%s still has the data of etcd, %s: revision %d", name, kept, saved.Revision)
}

// openSnapshot opens the chosen snapshot and refuses one that does not fit the cluster.
func (s *restorer) openSnapshot(ctx context.Context, r *etcdRestoration) error {
	if r.snapshot.Name == "" {
		found, err := s.findSnapshot(ctx, r.note.Snapshot)
		if err != nil {
			return err
		}
		r.snapshot = found
	}
	opened, err := s.open(r.snapshot)
	if err != nil {
		return err
	}
	r.opened, r.snapshot.Contents = opened, opened.Contents
	exported, err := s.cluster.state.Seen(ctx)
	if err != nil {
		return err
	}
	key, err := state.EncryptionKey(exported.Deployment)
	if err != nil {
		return refused(err)
	}
	choice := etcdrestore.Choice{Snapshot: r.snapshot, Opened: opened, Cluster: s.cluster.inventory.Cluster}
	if err := choice.Fits(key); err != nil || len(key) == 0 {
		return s.cluster.place.CompleteError(err)
	}
	plain, err := state.MachineSecretsText(exported.Deployment)
	if err != nil || propertymap.Text(plain, "secrets.aescbcEncryptionSecret") != "" {
		return err
	}
	return s.cluster.place.CompleteError(choice.SealedByPresentKey())
}
