package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"go.yaml.in/yaml/v3"
)

// fileScheme is the scheme of a state in a folder of this machine.
const fileScheme = "file://"

// projectBackend is the part of Pulumi.yaml with the URL of the states.
type projectBackend struct {
	Backend struct {
		URL yaml.Node `yaml:"url"`
	} `yaml:"backend"`
}

func (w *Workspace) projectFile() string { return filepath.Join(w.Dir, "Pulumi.yaml") }

// StateFolder returns the folder of the state; empty if the state is not in a folder of this machine.
func (w *Workspace) StateFolder() string {
	folder, isFile := strings.CutPrefix(w.Backend, fileScheme)
	if !isFile {
		return ""
	}
	return folder
}

// ShownBackend returns the URL of the state without its parameters.
func (w *Workspace) ShownBackend() string {
	shown, _, _ := strings.Cut(w.Backend, "?")
	return shown
}

// locateBackend reads the URL of the state from Pulumi.yaml, like an ordinary pulumi. The default is a folder beside that file.
func (w *Workspace) locateBackend(folder string) error {
	w.Backend = fileScheme + filepath.Join(w.Dir, folder)
	text, err := os.ReadFile(w.projectFile())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil // a rehearsal that does not exist yet; Prepare reports other errors
	}
	if err != nil {
		return err
	}
	var project projectBackend
	if err := yaml.Unmarshal(text, &project); err != nil {
		return fmt.Errorf("%s: %w: correct the file or restore it from git", w.projectFile(), err)
	}
	if url := project.Backend.URL.Value; url != "" {
		w.Backend = w.absolute(url)
	}
	return nil
}

// absolute returns a backend's URL that does not depend on the current folder.
func (w *Workspace) absolute(url string) string {
	folder, isFile := strings.CutPrefix(url, fileScheme)
	if !isFile || filepath.IsAbs(folder) {
		return url
	}
	return fileScheme + filepath.Join(w.Dir, folder)
}

// At returns the workspace with its state at another URL, in the form of Pulumi.yaml. Nothing is written.
func (w *Workspace) At(url string) *Workspace {
	moved := *w
	moved.Backend = w.absolute(url)
	return &moved
}

// MoveBackend writes a new URL of the states into Pulumi.yaml; the rest of the file is unchanged.
func (w *Workspace) MoveBackend(url string) error {
	text, err := os.ReadFile(w.projectFile())
	if err != nil {
		return err
	}
	moved, err := withBackend(text, url)
	if err != nil {
		return fmt.Errorf("%s: %w", w.projectFile(), err)
	}
	w.Backend = w.absolute(url)
	return atomicfile.Replace(w.projectFile(), moved)
}

var errBackendForm = errors.New("backend.url is not on one line of its own: write it as `url: …` below `backend:`")

func withBackend(text []byte, url string) ([]byte, error) {
	var project projectBackend
	if err := yaml.Unmarshal(text, &project); err != nil {
		return nil, err
	}
	old := project.Backend.URL
	if old.Line == 0 {
		return fmt.Appendf(bytes.TrimRight(text, "\n"), "\nbackend:\n  url: %s\n", url), nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	line := lines[old.Line-1]
	before, after, found := strings.Cut(line, old.Value)
	if !found || strings.TrimSpace(strings.Trim(before, `"' `)) != "url:" {
		return nil, errBackendForm
	}
	lines[old.Line-1] = before + url + after
	return []byte(strings.Join(lines, "")), nil
}
