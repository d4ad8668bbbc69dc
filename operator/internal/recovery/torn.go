package recovery

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/atomicfile"
	"github.com/em-infra/em-infra/internal/filematch"
)

// tornExt is appended to the name of a torn file. The engine reads no file with that name.
const tornExt = ".torn"

// MendState repairs the files of a stack's state after a run was killed while writing them, or its machine lost power, and returns a
// sentence for each repair. The caller makes sure that no run works on the stack. A state in a bucket is always written completely
// or not at all.
//
// The engine stores a state with gocloud's fileblob, which writes a new file and moves it into place, but before that writes a file
// of attributes in place (pulumi pkg/v3 v3.254.0, backend/diy/state.go; gocloud.dev v0.46.0, blob/fileblob):
//
//   - torn attributes hide an intact file and contain nothing that the engine needs: they are removed;
//   - a torn history entry makes every later run fail: it is renamed;
//   - a torn checkpoint is renamed and replaced by the newest complete copy: the one from before the last write, or the one in
//     the history. Without a copy nothing is changed, and reading the state fails.
func MendState(backend, project, stack string) ([]string, error) {
	root, isFile := strings.CutPrefix(backend, fileScheme)
	if !isFile {
		return nil, nil
	}
	f := stateFiles{root: filepath.Join(root, ".pulumi"), project: project, stack: stack}
	var mended []string
	for _, mend := range []func() ([]string, error){f.mendAttributes, f.mendLayout, f.mendHistory, f.mendCheckpoint} {
		done, err := mend()
		mended = append(mended, done...)
		if err != nil {
			return mended, fmt.Errorf("mend the state of %s, which a run that was killed left torn: %w", stack, err)
		}
	}
	return mended, nil
}

// stateFiles are the files of one stack in a file backend (pulumi pkg/v3 v3.254.0, backend/diy/store.go).
type stateFiles struct {
	root           string
	project, stack string
}

func (f stateFiles) checkpoint() string {
	return filepath.Join(f.root, "stacks", f.project, f.stack+".json")
}

func (f stateFiles) layout() string { return filepath.Join(f.root, "meta.yaml") }

func (f stateFiles) history() string { return filepath.Join(f.root, "history", f.project, f.stack) }

func (f stateFiles) backups() string { return filepath.Join(f.root, "backups", f.project, f.stack) }

// mendAttributes removes the stack's attribute files that are not valid JSON.
func (f stateFiles) mendAttributes() ([]string, error) {
	files, err := listed(
		in{filepath.Dir(f.checkpoint()), filepath.Base(f.checkpoint()) + "*.attrs"}, in{filepath.Dir(f.layout()), filepath.Base(f.layout()) + ".attrs"}, in{f.history(), "*.attrs"}, in{f.backups(), "*.attrs"})
	if err != nil {
		return nil, err
	}
	return mendEach(files, func(text []byte) bool { return json.Valid(text) }, os.Remove,
		"%s was torn and is removed: it says nothing that is needed")
}

// mendLayout removes the file with the folder's layout if it contains no version; the engine writes it again.
func (f stateFiles) mendLayout() ([]string, error) {
	says := func(text []byte) bool {
		var layout struct {
			Version *int `yaml:"version"`
		}
		return yaml.Unmarshal(text, &layout) == nil && layout.Version != nil
	}
	files, err := listed(in{filepath.Dir(f.layout()), filepath.Base(f.layout())})
	if err != nil {
		return nil, err
	}
	return mendEach(files, says, os.Remove, "%s was torn and is removed: the engine writes it anew")
}

// mendHistory renames the files of the history that are not valid JSON.
func (f stateFiles) mendHistory() ([]string, error) {
	files, err := listed(in{f.history(), "*.json"})
	if err != nil {
		return nil, err
	}
	return mendEach(files, func(text []byte) bool { return json.Valid(text) }, putAside,
		"%s was torn and is put aside: it tells of one run that has ended")
}

// mendCheckpoint replaces a torn state by its newest complete copy.
func (f stateFiles) mendCheckpoint() ([]string, error) {
	torn, err := os.ReadFile(f.checkpoint()) //nolint:gosec // below the state's folder
	if errors.Is(err, fs.ErrNotExist) || err == nil && isCheckpoint(torn) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	copies, err := listed(in{filepath.Dir(f.checkpoint()), filepath.Base(f.checkpoint()) + ".bak"}, in{f.history(), "*.checkpoint.json"}, in{f.backups(), "*.json"})
	if err != nil {
		return nil, err
	}
	newest, err := newestCheckpoint(copies)
	if err != nil || newest.path == "" {
		return nil, err
	}
	if err := f.replaceCheckpoint(torn, newest.text); err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("the state was torn (%s): its copy of %s takes its place, which does not know what was done after that; the torn one is %s",
		tear(torn), newest.written.UTC().Format("2006-01-02 15:04:05 UTC"), filepath.Base(f.checkpoint()+tornExt))}, nil
}

// replaceCheckpoint keeps the torn text in another file. The checkpoint exists at every moment: without it the engine would create
// the stack again.
func (f stateFiles) replaceCheckpoint(torn, whole []byte) error {
	if err := os.WriteFile(f.checkpoint()+tornExt, torn, 0o600); err != nil {
		return err
	}
	return atomicfile.WriteBeside(f.checkpoint(), whole, 0o600)
}

// checkpointCopy is a complete copy of a checkpoint.
type checkpointCopy struct {
	path    string
	text    []byte
	written time.Time
}

// newestCheckpoint returns the complete copy that was written last; empty if there is none.
func newestCheckpoint(files []string) (checkpointCopy, error) {
	var newest checkpointCopy
	for _, file := range files {
		about, err := os.Stat(file)
		if err != nil {
			return newest, err
		}
		if !about.ModTime().After(newest.written) {
			continue
		}
		text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
		if err != nil {
			return newest, err
		}
		if isCheckpoint(text) {
			newest = checkpointCopy{path: file, text: text, written: about.ModTime()}
		}
	}
	return newest, nil
}

// isCheckpoint reports whether a text is a complete checkpoint (pulumi sdk/v3, go/common/apitype, VersionedCheckpoint).
func isCheckpoint(text []byte) bool {
	var checkpoint struct {
		Version    int             `json:"version"`
		Checkpoint json.RawMessage `json:"checkpoint"`
	}
	return json.Unmarshal(text, &checkpoint) == nil && checkpoint.Version > 0 && len(checkpoint.Checkpoint) > 0
}

// tear describes what is wrong with a torn file.
func tear(text []byte) string {
	switch trimmed := bytes.Trim(text, "\x00 \r\n\t"); {
	case len(text) == 0:
		return "the file is empty"
	case len(trimmed) == 0:
		return "the file holds zeros alone" // as some file systems leave a file after a power failure
	case trimmed[0] == '{' && trimmed[len(trimmed)-1] != '}':
		return "the file is cut off"
	default:
		return "the file is no JSON of a state"
	}
}

// mendEach repairs the files that are not complete.
func mendEach(files []string, whole func([]byte) bool, mend func(string) error, sentence string) ([]string, error) {
	var mended []string
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
		if err != nil {
			return mended, err
		}
		if whole(text) {
			continue
		}
		if err := mend(file); err != nil {
			return mended, err
		}
		mended = append(mended, fmt.Sprintf(sentence, filepath.Base(file)))
	}
	return mended, nil
}

func putAside(file string) error { return os.Rename(file, file+tornExt) }

// in is a pattern of the names of files in a folder.
type in struct{ folder, pattern string }

// listed lists the files of several patterns, in the order of the patterns and then of their names.
func listed(patterns ...in) ([]string, error) {
	var files []string
	for _, one := range patterns {
		found, err := filematch.In(one.folder, one.pattern)
		if err != nil {
			return nil, err
		}
		files = slices.Concat(files, found)
	}
	return files, nil
}
