package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/secretvariables"
	"github.com/em-infra/em-infra/operator/internal/stackstate"
)

// RotatePassphraseOptions are the options of [Operator.RotatePassphrase].
type RotatePassphraseOptions struct {
	// NewPassphrase is the new passphrase, secret. Required: one line of text.
	NewPassphrase string
}

// Check refuses what cannot be a passphrase.
func (r RotatePassphraseOptions) Check() error {
	switch {
	case r.NewPassphrase == "":
		return refused(errors.New("the new passphrase is empty: write one into a file and add --new-passphrase-file FILE"))
	case strings.ContainsAny(r.NewPassphrase, "\r\n"):
		return refused(errors.New("the new passphrase has several lines, of which Pulumi reads the first: write it on one line"))
	}
	return nil
}

// PassphraseRotated is the result of [Operator.RotatePassphrase].
type PassphraseRotated struct {
	// Former is the number of backups that need the former passphrase. Their reasons end with -former-passphrase.
	Former int
}

// PassphraseRotation are the steps of [Operator.RotatePassphrase], in their order. None stops anything in the cluster.
var PassphraseRotation = []string{
	"back up the state, and keep the file of the stack as it is",
	"seal configuration and state with the new passphrase (pulumi stack change-secrets-provider)",
	"open both with the new passphrase and compare them with what they were",
	"name the older backups after the passphrase that they need, and make a new backup",
}

// RotatePassphrase seals the configuration and the state with a new passphrase, after consent. After a kill at any point it goes on with
// the same new passphrase; until then other operations are refused. Older backups, snapshots of etcd and recovery kits keep the former
// passphrase.
func (o *Operator) RotatePassphrase(ctx context.Context, options RotatePassphraseOptions) (*PassphraseRotated, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	if slices.Contains(o.fromSecrets, secretvariables.PassphraseVariable) {
		return nil, refused(fmt.Errorf("the passphrase is %s in %s, which this command does not change: set PULUMI_CONFIG_PASSPHRASE_FILE to a file with the passphrase, run this again, and then write the new one with `em-infra secrets edit %s`",
			secretvariables.Passphrase, inventory.SecretsFile, o.Place()))
	}
	s := o.session("change its passphrase")
	s.rotates = true
	if _, err := o.beginOnState(ctx, s); err != nil {
		return nil, err
	}
	if !s.state.SealedByPassphrase() {
		return nil, refused(fmt.Errorf("the secrets of stack %s are sealed by %s and not by a passphrase: change the key there", o.workspace.Stack, s.state.SecretsProvider))
	}
	defer s.recovery.Release(ctx)
	if _, err := s.recovery.ClearLocks(ctx); err != nil {
		return nil, err
	}
	r := passphraseRotation{Operator: o, state: s.state, place: s.place, to: engine.NewPassphrase(options.NewPassphrase), note: s.rotationNote()}
	sealed, err := r.isSealedAnew(ctx)
	if err != nil {
		return nil, err
	}
	if !sealed {
		if err := s.consent.ask(ctx); err != nil {
			return nil, err
		}
		if err := r.change(ctx); err != nil {
			return nil, err
		}
	}
	return r.finish(ctx)
}

// passphraseRotation is one rotation. The note is a copy of the stack's file from before; it exists from the first change to the end.
type passphraseRotation struct {
	*Operator

	state *stackstate.State
	place remedy.Place
	to    *engine.Passphrase
	note  string // the path of the note
}

// rotationNote returns the path of the note of a rotation of the passphrase.
func (o *Operator) rotationNote() string {
	return filepath.Join(o.workspace.Backups, "passphrase-rotation", filepath.Base(o.workspace.StackFile()))
}

// checkRotation refuses to work on a stack whose rotation of the passphrase was cut off: its file and its state may have different
// passphrases.
func (s *session) checkRotation() error {
	if _, err := os.Stat(s.rotationNote()); s.rotates || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return refused(s.place.CompleteError(errors.New("a change of the passphrase was cut off: run `em-infra rotate passphrase` again with the same new passphrase")))
}

// isSealedAnew reports whether the state is sealed with the new passphrase already, which only a rotation that was cut off leaves. It
// refuses to begin if the state cannot be opened, or nothing would change.
func (r passphraseRotation) isSealedAnew(ctx context.Context) (bool, error) {
	text, err := r.state.ExportSealed(ctx)
	if err != nil {
		return false, r.state.Unreadable(err)
	}
	exported, err := r.state.Read(text)
	if err != nil {
		return false, r.state.Unreadable(err)
	}
	_, err = os.Stat(r.note)
	isBegun := err == nil
	switch isNew := exported.IsSealedWith(r.to); {
	case len(exported.Deployment.Resources) == 0:
		return false, refused(fmt.Errorf("the state of stack %s holds nothing: choose the passphrase when you bring it up", r.workspace.Stack))
	case isNew && !isBegun:
		return false, refused(fmt.Errorf("the state of stack %s is sealed with that passphrase already: write another one into the file", r.workspace.Stack))
	case isNew:
		return true, nil
	case !exported.IsSealedWith(r.state.Passphrase):
		return false, refused(fmt.Errorf("neither the passphrase that is set nor the new one opens the state of stack %s: set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the present one", r.workspace.Stack))
	case len(exported.Deployment.PendingOperations) > 0:
		if err := r.giveUp(); err != nil {
			return false, err
		}
		return false, refused(fmt.Errorf("a run on stack %s was killed and is not settled: run `em-infra up %s` first", r.workspace.Stack, r.place.Stack))
	}
	return false, nil
}

// giveUp puts the stack's file back as it was before a rotation that was cut off, and forgets the rotation. The state has the former
// passphrase.
func (r passphraseRotation) giveUp() error {
	if err := r.putFileBack(); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil // none was begun
		}
		return err
	}
	return os.RemoveAll(filepath.Dir(r.note))
}

// putFileBack writes the stack's file as the note has it. It returns [os.ErrNotExist] if no rotation was begun.
func (r passphraseRotation) putFileBack() error {
	kept, err := os.ReadFile(r.note)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if info, err := os.Stat(r.workspace.StackFile()); err == nil {
		mode = info.Mode().Perm()
	}
	return atomicfile.WriteBeside(r.workspace.StackFile(), kept, mode)
}

// change seals configuration and state anew. It begins with the stack's file as it was before an earlier attempt.
func (r passphraseRotation) change(ctx context.Context) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	before, err := r.state.Fresh(ctx)
	if err != nil {
		return err
	}
	if err := r.state.ChangePassphrase(ctx, r.to); err != nil {
		return err
	}
	after, err := r.state.SealedWith(r.to).Export(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(before.Deployment.Resources, after.Deployment.Resources) {
		if err := r.state.Import(ctx, before); err != nil {
			return err
		}
		if err := r.giveUp(); err != nil {
			return err
		}
		return fmt.Errorf("the state of %s was not the same with the new passphrase, so it was put back with the former one: run the command again", r.workspace.Stack)
	}
	return nil
}

// begin backs up the state and keeps the stack's file, or puts that back if an earlier attempt has kept it.
func (r passphraseRotation) begin(ctx context.Context) error {
	if err := r.putFileBack(); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := r.state.BackUp(ctx, "before-rotate"); err != nil {
		return err
	}
	file, err := os.ReadFile(r.workspace.StackFile())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.note), 0o700); err != nil {
		return err
	}
	return atomicfile.WriteBeside(r.note, file, 0o600)
}

// finish checks that the new passphrase opens everything, and puts in order what was made with the former one. It can be repeated.
func (r passphraseRotation) finish(ctx context.Context) (*PassphraseRotated, error) {
	if err := r.sealFile(ctx); err != nil {
		return nil, err
	}
	r.state.State = r.state.SealedWith(r.to)
	former, err := r.markFormer(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := r.state.BackUp(ctx, "after-rotate"); err != nil {
		return nil, err
	}
	if r.workspace.Rehearsed {
		if err := atomicfile.WriteBeside(r.workspace.PassphraseHere(), []byte(r.to.Text()), 0o600); err != nil {
			return nil, err
		}
	}
	return &PassphraseRotated{Former: former}, os.RemoveAll(filepath.Dir(r.note))
}

// sealFile seals the stack's file with the new passphrase, which the state has, if the file was put back from before the rotation.
func (r passphraseRotation) sealFile(ctx context.Context) error {
	if r.state.ConfigIsSealedWith(r.to) || r.state.SealConfig(ctx, r.to) == nil {
		return nil
	}
	if err := errors.Join(r.putFileBack(), r.state.SealConfig(ctx, r.to)); err != nil {
		return refused(fmt.Errorf("the state has the new passphrase, and neither that nor the one that is set opens %s (%w): set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the former one, then run the command again",
			workspace.Nearby(r.workspace.StackFile()), err))
	}
	return nil
}

// tellUnread reports the backups that are damaged: it is not known which passphrase they need.
func (r passphraseRotation) tellUnread(problems []error) {
	for _, problem := range problems {
		r.emit(Note{Text: fmt.Sprintf("warning: a backup cannot be read and keeps its name: %s", problem)})
	}
}

// markFormer names the backups that need the former passphrase, here and in the bucket with the state, and returns how many are here.
func (r passphraseRotation) markFormer(ctx context.Context) (int, error) {
	opens := func(text []byte) (bool, error) {
		exported, err := r.state.Read(text)
		return err == nil && exported.IsSealedWith(r.to), err
	}
	former, unread, err := r.backups().MarkFormer(opens)
	r.tellUnread(unread)
	if err != nil {
		return former, err
	}
	remote, err := r.backupBucket(ctx)
	if err != nil || remote == nil {
		return former, err
	}
	unread, err = remote.MarkFormer(ctx, opens)
	r.tellUnread(unread)
	return former, errors.Join(err, remote.Objects.Close())
}
