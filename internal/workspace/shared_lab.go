package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/em-infra/em-infra/internal/atomicfile"
)

// sharedLabFile is a file in the folder of a rehearsal. It contains the name of the lab that the stack shares with others.
const sharedLabFile = "shared-lab"

// sharedLabName is the form of the name of a shared lab. No stack has such a name.
var sharedLabName = regexp.MustCompile(`^_[A-Za-z0-9.-]{1,100}$`)

var notInSharedLabName = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// SharedLabName returns the name of the lab that the stacks of one Proxmox VE share, by the URL of its API; empty stands for stacks that name
// none.
func SharedLabName(endpoint string) string {
	_, host, isURL := strings.Cut(endpoint, "://")
	if !isURL {
		host = endpoint
	}
	name := strings.Trim(notInSharedLabName.ReplaceAllString(host, "-"), "-")
	if name == "" {
		name = "site"
	}
	return "_" + name[:min(len(name), 100)]
}

// SharedLab returns the folder of a lab that stacks share.
func SharedLab(root, name string) string { return filepath.Join(root, rehearsals, name) }

// SharedLab returns the name of the lab that this rehearsal shares with other stacks; empty if it has its own.
func (w *Workspace) SharedLab() string {
	if !w.Rehearsed || w.Lab == w.Dir {
		return ""
	}
	return filepath.Base(w.Lab)
}

// ShareLab has the rehearsal use a shared lab from now on.
func (w *Workspace) ShareLab(name string) error {
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return err
	}
	w.Lab = SharedLab(w.Root, name)
	return atomicfile.Write(filepath.Join(w.Dir, sharedLabFile), []byte(name+"\n"), 0o600)
}

// locateLab finds the lab of the rehearsal.
func (w *Workspace) locateLab() error {
	w.Lab = w.Dir
	text, err := os.ReadFile(filepath.Join(w.Dir, sharedLabFile))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	name := strings.TrimSpace(string(text))
	if !sharedLabName.MatchString(name) {
		return fmt.Errorf("%s is damaged: delete it to rehearse the stack on a lab of its own, or run `em-infra site up --lab` after that", filepath.Join(w.Dir, sharedLabFile))
	}
	w.Lab = SharedLab(w.Root, name)
	return nil
}
