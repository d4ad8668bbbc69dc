package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"go.yaml.in/yaml/v3"
)

// fileScheme is the scheme of a state in a folder of this machine.
const fileScheme = "file://"

// projectBackend is the part of Pulumi.yaml with the URL of the states of stacks that name none.
type projectBackend struct {
	Backend struct {
		URL string `yaml:"url"`
	} `yaml:"backend"`
}

func (w *Workspace) projectFile() string { return filepath.Join(w.Dir, "Pulumi.yaml") }

// StateFolder returns the folder of the state; empty if the state is not in a folder of this machine.
func (w *Workspace) StateFolder() string { return FolderOf(w.Backend) }

// FolderOf returns the folder that the URL of a state names; empty if it names none.
func FolderOf(backend string) string {
	folder, isFolder := strings.CutPrefix(backend, fileScheme)
	if !isFolder {
		return ""
	}
	return folder
}

// ShownBackend returns the URL of the state without its parameters.
func (w *Workspace) ShownBackend() string {
	shown, _, _ := strings.Cut(w.Backend, "?")
	return shown
}

// locateBackend finds the URL of the state: the stack's file names it, or else Pulumi.yaml for all stacks. The default is a folder beside
// these files.
func (w *Workspace) locateBackend(folder string) error {
	named, err := w.NamedBackend()
	if err == nil && named == "" {
		named, err = w.projectBackend()
	}
	w.Backend = fileScheme + filepath.Join(w.Dir, folder)
	if named != "" {
		w.Backend = w.absolute(named)
	}
	return err
}

// RereadBackend finds the URL of the state again, after the stack's file was written.
func (w *Workspace) RereadBackend() error {
	if w.Rehearsed {
		return w.locateBackend("state")
	}
	return w.locateBackend(".state")
}

// NamedBackend returns the URL of the state in the stack's file; empty if that names none.
func (w *Workspace) NamedBackend() (string, error) {
	file, err := readStackFile(w.StackFile())
	value := file.Config[keyBackend]
	return value.Value, err
}

// projectBackend returns the URL of the states in Pulumi.yaml, as an ordinary pulumi reads it; empty if that names none.
func (w *Workspace) projectBackend() (string, error) {
	text, err := os.ReadFile(w.projectFile())
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil // a rehearsal that does not exist yet; Prepare reports other errors
	}
	if err != nil {
		return "", err
	}
	var project projectBackend
	if err := yaml.Unmarshal(text, &project); err != nil {
		return "", fmt.Errorf("%s: %w: correct the file or restore it from git", w.projectFile(), err)
	}
	return project.Backend.URL, nil
}

// EngineBackend returns the URL of the state that an engine uses in this environment, which a plain pulumi takes from PULUMI_BACKEND_URL or
// from Pulumi.yaml; empty if neither names one.
func (w *Workspace) EngineBackend(env func(string) string) (string, error) {
	url := env(variableBackend)
	if url == "" {
		var err error
		if url, err = w.projectBackend(); err != nil || url == "" {
			return "", err
		}
	}
	return w.absolute(url), nil
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

// MoveBackend writes a new URL of the state into the stack's file; the rest of the file is unchanged.
func (w *Workspace) MoveBackend(url string) error {
	text, err := os.ReadFile(w.StackFile())
	if err != nil {
		return err
	}
	moved, err := withBackend(text, url)
	if err != nil {
		return fmt.Errorf("%s: %w", w.StackFile(), err)
	}
	w.Backend = w.absolute(url)
	return atomicfile.Replace(w.StackFile(), moved)
}

var errBackendForm = errors.New("em-infra:backend cannot be written (config has one key a line): write `em-infra:backend: URL` below `config:`")

func withBackend(text []byte, url string) ([]byte, error) {
	var file stackNodes
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(bytes.TrimRight(text, "\n"))+"\n", "\n")
	config := file.Config
	added := keyBackend + ": " + url + "\n"
	switch {
	case config.Line == 0:
		lines = append(lines, "config:\n  "+added)
	case len(config.Content) == 0:
		line := &lines[config.Line-1]
		if !slices.Contains([]string{"config:", "config: {}"}, strings.TrimSpace(*line)) {
			return nil, errBackendForm
		}
		*line = "config:\n  " + added
	case config.Kind != yaml.MappingNode || config.Style&yaml.FlowStyle != 0:
		return nil, errBackendForm
	default:
		return withKey(lines, config, url)
	}
	return []byte(strings.TrimLeft(strings.Join(lines, ""), "\n")), nil
}

// stackNodes is the configuration in a stack's file with its place.
type stackNodes struct {
	Config yaml.Node `yaml:"config"`
}

// withKey replaces the URL in a block of keys, or adds it as the first one.
func withKey(lines []string, config yaml.Node, url string) ([]byte, error) {
	for i := 0; i < len(config.Content); i += 2 {
		key, old := config.Content[i], config.Content[i+1]
		if key.Value != keyBackend {
			continue
		}
		before, after, found := strings.Cut(lines[old.Line-1], old.Value)
		if !found || old.Value == "" || strings.TrimSpace(strings.Trim(before, `"' `)) != keyBackend+":" {
			return nil, errBackendForm
		}
		lines[old.Line-1] = before + url + after
		return []byte(strings.Join(lines, "")), nil
	}
	first := config.Content[0]
	added := strings.Repeat(" ", first.Column-1) + keyBackend + ": " + url + "\n"
	return []byte(strings.Join(slices.Insert(lines, first.Line-1, added), "")), nil
}
