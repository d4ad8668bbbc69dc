package operator

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"path/filepath"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/role"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
	"github.com/em-infra/em-infra/stacks"
)

// Kit is a sealed recovery kit and its description.
type Kit = recoverykit.Kit

// KitOptions are the options of [Operator.CreateKit].
type KitOptions struct {
	// Tool is the version of the program, for the description. Default: empty, it is not named.
	Tool string
}

// Kits returns the recovery kits of the stack on this machine, newest first.
func (o *Operator) Kits() ([]Kit, error) { return o.kits().List() }

func (o *Operator) kits() recoverykit.Store {
	return recoverykit.Store{Dir: o.workspace.Kits()}
}

// CreateKit seals into one file what the cluster is rebuilt from if this machine is lost: the machine secrets, a snapshot of etcd that is
// taken for it, the inventory, the configuration of the stack, its state, and a page of instructions. It changes nothing in the cluster. If
// etcd does not answer, the kit has the newest snapshot that there is.
func (o *Operator) CreateKit(ctx context.Context, options KitOptions) (*Kit, error) {
	s, err := o.begin(ctx, needs{hostMayBeAway: true})
	if err != nil {
		return nil, err
	}
	secrets, err := s.inState().machineSecrets(ctx)
	if err != nil {
		return nil, err
	}
	store, err := stacks.SnapshotStore(s.workspace.Stack, s.inventory, s.engine.program)
	if err != nil {
		return nil, refused(fmt.Errorf("the recovery kit: %w", err))
	}
	maker := kitMaker{Operator: o, etcd: s.etcd()}
	snapshot, err := maker.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	description, err := maker.describe(ctx, secrets, snapshot)
	if err != nil {
		return nil, err
	}
	description.Tool = options.Tool
	files, err := maker.files(ctx, &description, secrets, snapshot)
	if err != nil {
		return nil, err
	}
	kit, err := o.kits().Save(description, store.Recipients, files)
	if err != nil {
		return nil, err
	}
	return &kit, nil
}

// kitMaker collects what a recovery kit contains.
type kitMaker struct {
	*Operator

	etcd clusterEtcd
}

// snapshot takes a snapshot of etcd, or finds the newest one and notes why. It returns nil if there is none at all.
func (k kitMaker) snapshot(ctx context.Context) (*EtcdSnapshot, error) {
	taken, err := k.etcd.snapshot(ctx, "for-kit")
	if err == nil && taken != nil {
		if taken.NotInBucket != nil {
			k.etcd.tell(*taken)
		}
		return &taken.Snapshot, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		err = errors.New("etcd runs on no control plane")
	}
	copies, unlisted, unread := k.etcdCopies(ctx)
	if unread != nil {
		return nil, unread
	}
	if len(copies) == 0 {
		k.emit(Note{Text: fmt.Sprintf("the kit has no snapshot of etcd: %s", errors.Join(err, unlisted))})
		return nil, nil
	}
	older, unread := k.findSnapshot(ctx, copies[0].Name)
	if unread != nil {
		return nil, unread
	}
	k.emit(Note{Text: fmt.Sprintf("the kit has the snapshot %s, and no newer one: %s", older.Name, err)})
	return &older, nil
}

func (k kitMaker) describe(ctx context.Context, secrets machinesecrets.Bundle, snapshot *EtcdSnapshot) (recoverykit.Description, error) {
	fingerprint, err := secrets.Fingerprint()
	if err != nil {
		return recoverykit.Description{}, err
	}
	ca, err := secrets.CA()
	if err != nil {
		return recoverykit.Description{}, err
	}
	cluster := k.etcd.cluster.inventory.Cluster
	description := recoverykit.Description{
		Stack: k.workspace.Stack, Cluster: cluster.Name, Made: k.clock.Now().UTC().Truncate(time.Second),
		Talos: cluster.Talos.Version.String(), Kubernetes: cluster.Kubernetes.Version.String(),
		CA: ca, Secrets: fingerprint,
	}
	description.Repository, description.Commit = recoverykit.CloneOf(ctx, k.workspace.Root)
	if k.workspace.StateFolder() == "" {
		description.Backend = k.workspace.Backend
	}
	for _, recipient := range cluster.Backups.Recipients {
		description.SealedFor = append(description.SealedFor, recipient.String())
	}
	if snapshot != nil {
		description.Snapshot, description.SnapshotTaken = snapshot.Name, snapshot.Taken
	}
	return description, nil
}

// files returns the files of a kit, and names the copy of the state in the description.
func (k kitMaker) files(ctx context.Context, of *recoverykit.Description, secrets machinesecrets.Bundle, snapshot *EtcdSnapshot) ([]recoverykit.File, error) {
	copied, err := k.etcd.cluster.state.BackUp(ctx, "for-kit")
	if err != nil {
		return nil, err
	}
	if copied == nil {
		return nil, refused(fmt.Errorf("the state of stack %s holds nothing: bring the cluster up first", k.workspace.Stack))
	}
	of.State = copied.Name
	bundle, err := secrets.Text()
	if err != nil {
		return nil, err
	}
	lifetime, err := secrets.UntilCAEnds(k.clock.Now())
	if err != nil {
		return nil, err
	}
	talosconfig, err := secrets.Talosconfig(of.Cluster, role.Operator, lifetime, controlPlaneAddresses(k.etcd.cluster.inventory))
	if err != nil {
		return nil, err
	}
	files := []recoverykit.File{
		recoverykit.Text(recoverykit.MachineSecrets, bundle),
		recoverykit.Text(recoverykit.Talosconfig, talosconfig),
		recoverykit.Copy(path.Join(recoverykit.ProjectFolder, filepath.Base(k.workspace.StackFile())), k.workspace.StackFile()),
		recoverykit.Copy(path.Join(recoverykit.StateFolder, filepath.Base(copied.Path)), copied.Path),
	}
	if passphrase := k.passphrase(); passphrase != "" {
		files = append(files, recoverykit.Text(recoverykit.Passphrase, []byte(passphrase)))
	}
	described, err := k.inventoryFiles()
	if err != nil {
		return nil, err
	}
	files = append(files, described...)
	if snapshot != nil {
		files = append(files, etcdFiles(*snapshot)...)
	}
	return files, nil
}

// passphrase returns the passphrase of the state if the kit is opened with the key of a recipient instead: a person with such a key has all
// secrets of the cluster anyway, and needs the passphrase to go on working with its state (decision 63).
func (k kitMaker) passphrase() string {
	passphrase := engine.PassphraseIn(k.workspace.Environment())
	if len(k.etcd.cluster.inventory.Cluster.Backups.Recipients) == 0 || passphrase == nil || !k.etcd.cluster.state.SealedByPassphrase() {
		return ""
	}
	return passphrase.Text()
}

func controlPlaneAddresses(inv *inventory.Inventory) []netip.Addr {
	var addresses []netip.Addr
	for _, node := range inv.Nodes.ControlPlanes() {
		addresses = append(addresses, node.Address)
	}
	return addresses
}

// inventoryFiles returns the files in the folder of the inventory, which may name others in it, such as charts. It reports what it leaves out.
func (k kitMaker) inventoryFiles() ([]recoverykit.File, error) {
	folder := k.workspace.Inventory
	found, err := recoverykit.Below(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range found.LeftOut {
		k.emit(Note{Text: fmt.Sprintf("the kit leaves %s out: it is a link that leads to no file of the inventory", name)})
	}
	var files []recoverykit.File
	for _, name := range found.Files {
		files = append(files, recoverykit.Copy(path.Join(recoverykit.InventoryFolder, name), filepath.Join(folder, filepath.FromSlash(name))))
	}
	return files, nil
}

// etcdFiles returns a snapshot, sealed as it is, and its description if it has one.
func etcdFiles(snapshot EtcdSnapshot) []recoverykit.File {
	var files []recoverykit.File
	for _, file := range snapshot.Files() {
		files = append(files, recoverykit.Copy(path.Join(recoverykit.EtcdFolder, filepath.Base(file)), file))
	}
	return files
}
