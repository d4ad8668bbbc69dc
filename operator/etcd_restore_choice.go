package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/etcdrestore"
)

// chooseSnapshot chooses the snapshot and the control plane on which etcd starts from it. What the control planes still have of etcd's
// data is kept first, whichever snapshot is chosen.
func (s *session) chooseSnapshot(ctx context.Context, r *etcdRestoration) error {
	if err := s.checkSilent(r); err != nil {
		return err
	}
	from := s.restoreAsked.From
	members, err := r.health.Members(ctx)
	if works := err == nil && len(members) > 0; works && from == "" {
		return refused(s.place.CompleteError(cmp.Or(r.health.CheckAlarms(ctx),
			fmt.Errorf("etcd works and has %d members, and a restore takes it back in time: if that is meant, give --from the name of one that `em-infra etcd list` shows", len(members)))))
	}
	newest, on, err := s.salvage(ctx, r)
	switch {
	case err != nil && from == "":
		return err
	case err != nil:
		s.emit(Note{Text: fmt.Sprintf("warning: what the control planes have of etcd is not kept (%v)", err)})
	}
	if newest == nil || from != "" {
		chosen, err := s.findSnapshot(ctx, from)
		if err != nil {
			return err
		}
		newest, on = &chosen, r.target()
	}
	r.snapshot, r.note.Snapshot, r.note.On = *newest, newest.Name, on
	return nil
}

// replaceOnly plans the restore on the new machine of the only control plane. Without a snapshot of this run it is refused, unless an
// earlier run has taken one and gone on from there.
func (s *session) replaceOnly(ctx context.Context, name string, taken *KeptSnapshot, failed error) error {
	switch {
	case taken == nil && s.etcdRestore != nil && s.etcdRestore.note.On == name:
		return nil
	case failed != nil:
		return refused(fmt.Errorf("%s is the only control plane, and is not replaced without a snapshot of etcd: %w", name, failed))
	case taken == nil:
		return refused(s.place.CompleteError(fmt.Errorf("%s is the only control plane, and is not replaced without a snapshot of etcd, which runs nowhere: bring etcd back first with `em-infra etcd restore`", name)))
	}
	if err := s.closeRestore(); err != nil {
		return err
	}
	r, err := s.newEtcdRestoration(ctx)
	if err != nil {
		return err
	}
	r.snapshot, r.note = taken.Snapshot, restoreNote{Snapshot: taken.Name, On: name, Former: s.predecessors[name], Replaces: true}
	s.etcdRestore = r
	s.tellSnapshot(*taken)
	return s.openSnapshot(ctx, r)
}

// checkSilent refuses while a control plane runs and does not answer: with others like it, it may still have a quorum, and two clusters
// with the same keys would run side by side.
func (s *session) checkSilent(r *etcdRestoration) error {
	var problems []error
	for _, node := range r.seen {
		if vmid := s.vmidOf(node.Name); node.Data == etcdrestore.Silent && r.power[node.Name] == "running" {
			problems = append(problems, fmt.Errorf("%s does not answer (%w) and its VM %d runs, so its etcd may still work: wait until it answers, or stop it with `qm stop %d` on its host, then run `em-infra etcd restore` again",
				node.Name, node.Problem, vmid, vmid))
		}
	}
	if len(problems) == 0 {
		problems = append(problems, r.majorityIsOff())
	}
	if err := errors.Join(problems...); err != nil {
		return refused(s.place.CompleteError(err))
	}
	return nil
}

// powerOf returns the status of each node's VM that is there, by the name of the node.
func (s *session) powerOf(ctx context.Context) (map[string]string, error) {
	reader, err := pve.NewReader(s.host)
	if err != nil {
		return nil, refused(err)
	}
	guests, err := reader.Guests(ctx)
	if err != nil {
		return nil, refused(s.place.CompleteError(err))
	}
	power := map[string]string{}
	for _, guest := range guests {
		power[s.nameOf(guest.VMID)] = guest.Status
	}
	return power, nil
}

// switchedOff returns the control planes whose VMs are there and off. They come back with data of the time before.
func (r *etcdRestoration) switchedOff() (names []string) {
	for _, node := range r.seen {
		if status, isThere := r.power[node.Name]; isThere && status != "running" && node.Data == etcdrestore.Silent {
			names = append(names, node.Name)
		}
	}
	return names
}

// majorityIsOff returns an error if a majority of the control planes is only switched off. Switched on by the run, they would be an etcd
// of their own beside the restored one.
func (r *etcdRestoration) majorityIsOff() error {
	off := r.switchedOff()
	if len(off) < len(r.seen)/2+1 {
		return nil
	}
	return fmt.Errorf("%s of %d control planes are switched off, and may have all data of etcd: run `em-infra up`, which starts them; only if that does not help, delete their VMs, then run `em-infra etcd restore` again",
		strings.Join(off, ", "), len(r.seen))
}

func (s *session) nameOf(vmid int) string {
	for _, node := range s.inventory.Nodes {
		if node.VMID == vmid {
			return node.Name
		}
	}
	return ""
}

func (s *session) vmidOf(name string) int {
	for _, node := range s.inventory.Nodes {
		if node.Name == name {
			return node.VMID
		}
	}
	return 0
}

// salvage keeps what each control plane has of etcd's data, and returns the newest of it and where it is from; nil if none has any.
func (s *session) salvage(ctx context.Context, r *etcdRestoration) (newest *EtcdSnapshot, on string, err error) {
	var problems []error
	for _, node := range r.seen {
		if node.Data != etcdrestore.Some {
			continue
		}
		saved, err := s.salvageFrom(ctx, r.health, node)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		s.tellSalvaged(node.Name, *saved)
		if newest == nil || saved.Revision > newest.Revision {
			newest, on = &saved.Snapshot, node.Name
		}
	}
	if newest == nil && len(problems) > 0 {
		return nil, "", refused(s.place.CompleteError(fmt.Errorf("%w; choose a snapshot that `em-infra etcd list` shows with --from", errors.Join(problems...))))
	}
	return newest, on, nil
}

func (s *session) salvageFrom(ctx context.Context, health nodeops.Health, node etcdrestore.ControlPlane) (*KeptSnapshot, error) {
	found, err := health.SalvageEtcd(ctx, node.Node)
	if err != nil {
		return nil, err
	}
	var saved *KeptSnapshot
	if s.restorePlan != nil {
		saved, err = s.restorePlan.keep(ctx, s, *found)
	} else {
		saved, err = s.keep(ctx, "before-restore", *found)
	}
	if err != nil {
		return nil, fmt.Errorf("the data of etcd on %s: %w", node.Name, err)
	}
	return saved, nil
}

// tellSalvaged says what a control plane still has, and where it is kept.
func (s *session) tellSalvaged(name string, saved KeptSnapshot) {
	kept := "kept as " + s.place.Complete(saved.Text())
	if s.restorePlan != nil {
		kept = "which the restore keeps as a snapshot first"
	}
	s.tellRestore("%s still has the data of etcd, %s: revision %d", name, kept, saved.Revision)
}

// target returns the control plane on which etcd starts from the snapshot: the first that answers, else the first.
func (r *etcdRestoration) target() string {
	best := r.seen[0]
	for _, node := range r.seen {
		if node.Data > best.Data {
			best = node
		}
	}
	return best.Name
}

// openSnapshot opens the chosen snapshot and refuses one that does not fit the cluster.
func (s *session) openSnapshot(ctx context.Context, r *etcdRestoration) error {
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
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return err
	}
	key, err := state.EncryptionKey(exported.Deployment)
	if err != nil {
		return refused(err)
	}
	if err := s.fits(r, key); err != nil || len(key) == 0 {
		return err
	}
	plain, err := state.MachineSecretsText(exported.Deployment)
	if err != nil || propertymap.Text(plain, "secrets.aescbcEncryptionSecret") != "" {
		return err
	}
	return s.sealedByPresentKey(r)
}

// sealedByPresentKey refuses a snapshot with Secrets of a key that the cluster has no more since `em-infra rotate encryption-key`: its API
// servers could not read them.
func (s *session) sealedByPresentKey(r *etcdRestoration) error {
	former, err := r.opened.SecretsSealed(etcdsnapshot.SealedByAESCBC)
	if err != nil {
		return refused(err)
	}
	if len(former) > 0 {
		return refused(s.place.CompleteError(fmt.Errorf("the snapshot %s is from before `em-infra rotate encryption-key`: its Secrets (%d) are sealed with the former key, which the cluster has no more; choose a later one that `em-infra etcd list` shows with --from, or first restore the state that was backed up before the rotation with `em-infra state restore`",
			r.snapshot.Name, len(former))))
	}
	return nil
}

// fits refuses a snapshot of another cluster or of other versions.
func (s *session) fits(r *etcdRestoration, key []byte) error {
	snapshot, cluster := r.snapshot, s.inventory.Cluster
	if len(key) > 0 {
		encryption, err := r.opened.Encryption(key)
		if err != nil {
			return refused(err)
		}
		if encryption.Foreign() {
			return refused(s.place.CompleteError(fmt.Errorf("the snapshot %s is of another cluster: the key in the state opens none of its Secrets; choose another one that `em-infra etcd list` shows with --from, or restore the state that belongs to it with `em-infra state restore`",
				snapshot.Name)))
		}
	}
	if snapshot.Cluster.Name != "" && snapshot.Cluster.Name != cluster.Name {
		return refused(s.place.CompleteError(fmt.Errorf("the snapshot %s is of the cluster %s, and this is %s: choose another one that `em-infra etcd list` shows with --from",
			snapshot.Name, snapshot.Cluster.Name, cluster.Name)))
	}
	return errors.Join(
		sameMinor(snapshot.Name, "Kubernetes", "kubernetes.version", snapshot.Kubernetes, cluster.Kubernetes.Version.String()),
		sameMinor(snapshot.Name, "Talos", "talos.version", snapshot.Talos, cluster.Talos.Version.String()),
	)
}

// sameMinor refuses a snapshot of another minor release than that of the inventory. One without a version is accepted: its description
// is missing, or the image has no version as its tag.
func sameMinor(snapshot, of, key, taken, wanted string) error {
	was, is := parsed(taken), parsed(wanted)
	if was.IsZero() || is.IsZero() || was.Minor() == is.Minor() {
		return nil
	}
	return refused(fmt.Errorf("the snapshot %s is of %s %s, and the inventory says %s, which is another minor release: set %s to %s, restore, then upgrade",
		snapshot, of, was, is, key, was))
}
