package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// openKit opens a kit; an empty path means the newest one of the stack on this machine.
func (o *Operator) openKit(file string) (*recoverykit.Opened, error) {
	if file == "" {
		newest, err := o.kits().Newest()
		if errors.Is(err, recoverykit.ErrNone) {
			return nil, refused(o.remedies().CompleteError(fmt.Errorf("stack %s has no recovery kit in %s: name one with --kit FILE, or make one with `em-infra kit create`",
				o.workspace.Stack, workspace.Nearby(o.workspace.Kits()))))
		}
		if err != nil {
			return nil, err
		}
		file = newest.Path
	}
	identities, err := o.identities()
	if err != nil {
		return nil, refused(err)
	}
	opened, err := recoverykit.Open(file, identities)
	switch {
	case errors.Is(err, recoverykit.ErrSealed):
		return nil, refused(fmt.Errorf("%w: set %s to the file with the key of one of backups.recipients, or PULUMI_CONFIG_PASSPHRASE_FILE to that with the passphrase of the stack, as they were when it was made",
			err, secrets.KeyFileVariable))
	case errors.Is(err, os.ErrNotExist):
		return nil, refused(fmt.Errorf("there is no recovery kit %s: name its file with --kit", file))
	case err != nil:
		return nil, refused(fmt.Errorf("%w: use another copy of it, or an older kit", err))
	case opened.Stack != o.workspace.Stack:
		return nil, refused(fmt.Errorf("the recovery kit is of the stack %s, not of %s: run the command with --stack %s", opened.Stack, o.workspace.Stack, opened.Stack))
	}
	return opened, nil
}

// OpenKit unpacks a recovery kit into a folder that it creates, in clear; an empty path means the newest kit of the stack on this
// machine. It returns the paths of the files.
func (o *Operator) OpenKit(file, folder string) ([]string, error) {
	opened, err := o.openKit(file)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		do := "create the folder above it, or name another place"
		if errors.Is(err, os.ErrExist) {
			do = "name one that does not exist"
		}
		return nil, refused(fmt.Errorf("the folder for the files of the recovery kit: %w: %s", err, do))
	}
	var written []string
	err = opened.Unpack(func(name string) string {
		written = append(written, filepath.Join(folder, filepath.FromSlash(name)))
		return written[len(written)-1]
	})
	if err != nil { // its files are in clear
		return nil, errors.Join(fmt.Errorf("the files of the recovery kit cannot be written (%w): make room there or name another place, then try again", err), os.RemoveAll(folder))
	}
	return written, nil
}
