package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// rehearsals is the folder of all rehearsals in a project.
const rehearsals = ".lab"

// isRehearsal reports whether a folder is a rehearsal's, whose Pulumi.yaml is not the project's.
func isRehearsal(dir string) bool { return filepath.Base(filepath.Dir(dir)) == rehearsals }

// passphraseFile returns the file with the passphrase of a rehearsal's state. Its secrets belong to emulated machines; the file
// exists so that an ordinary pulumi can read the state too.
func (w *Workspace) passphraseFile() string { return filepath.Join(w.Dir, "passphrase") }

// rehearsalProject is the rehearsal's own Pulumi.yaml. main names the program, so that an ordinary `pulumi up` in this folder
// runs the same one.
const rehearsalProject = `# Made by em-infra for a rehearsal. The project's own Pulumi.yaml is two folders up.
name: %s
description: A rehearsal on the emulated host
runtime:
  name: go
  options:
    buildTarget: bin/program
main: ../..
options:
  refresh: always
config:
  pulumi:disable-default-providers:
    value: ["*"]
`

// Prepare creates the files that the engine needs: its home, and for a rehearsal its folder, project file and passphrase. It changes
// no existing file but the engine's own logs, which it removes.
func (w *Workspace) Prepare() error {
	folders := []string{w.Home, w.Credentials}
	if w.Rehearsed {
		folders = append(folders, w.Lab)
	}
	if folder := w.StateFolder(); w.Rehearsed && folder != "" {
		folders = append(folders, folder)
	}
	for _, folder := range folders {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if err := w.refuseEngineLog(); err != nil {
		return err
	}
	if !w.Rehearsed {
		return nil
	}
	if err := writeOnce(w.projectFile(), fmt.Sprintf(rehearsalProject, Project)); err != nil {
		return err
	}
	return writeOnce(w.passphraseFile(), rand.Text())
}

// writeOnce creates a file atomically and never changes it: with a half-written passphrase, a state would be encrypted that
// could never be read again.
func writeOnce(path, text string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := atomicfile.WriteNew(path, []byte(text)); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}
