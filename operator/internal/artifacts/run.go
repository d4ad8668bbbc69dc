package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/em-infra/em-infra/internal/retention"
)

// Names in a run's folder.
const (
	// DirInventory has the files of the effective inventory.
	DirInventory  = "inventory"
	fileEvents    = "events.jsonl"
	fileSummary   = "summary.json"
	dirMachines   = "machine-configurations"
	privateFile   = 0o600
	privateFolder = 0o700
)

// Folder is the folder with the artifacts of a stack's runs.
type Folder struct {
	// Dir is the folder. The first run creates it.
	Dir string
	// Keep is the number of runs of each command to keep; the oldest are deleted first. Default: [retention.Default].
	Keep int
}

// Run writes the artifacts of one run.
type Run struct {
	// Dir is the run's own folder.
	Dir string

	clock    func() time.Time
	started  time.Time
	redactor *Redactor
	mutex    sync.Mutex
	events   *os.File
	failed   error // the first event that could not be written
	timeline timeline
}

// Begin creates the folder of a run and deletes old runs of each command. secrets are the secrets that are known before the run;
// [Run.Finish] adds the ones of the run.
func (f Folder) Begin(clock func() time.Time, command string, secrets []string) (*Run, error) {
	started := clock()
	dir, err := f.makeDir(started, command)
	if err != nil {
		return nil, fmt.Errorf("folder of the artifacts: %w", err)
	}
	if err := f.prune(dir); err != nil {
		return nil, err
	}
	events, err := os.OpenFile(filepath.Join(dir, fileEvents), os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
	if err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	return &Run{Dir: dir, clock: clock, started: started, redactor: NewRedactor(secrets), events: events}, nil
}

func (f Folder) makeDir(started time.Time, command string) (string, error) {
	if err := os.MkdirAll(f.Dir, privateFolder); err != nil {
		return "", err
	}
	name, err := retention.Create(started, command, func(name retention.Name) error { return os.Mkdir(f.path(name), privateFolder) })
	return f.path(name), err
}

func (f Folder) path(name retention.Name) string { return filepath.Join(f.Dir, name.String()) }

// prune deletes old runs, but not the present one: it is not the newest if the clock was wrong before. Other entries of the folder are left
// alone.
func (f Folder) prune(present string) error {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		return fmt.Errorf("folder of the artifacts: %w", err)
	}
	var runs []retention.Name
	for _, entry := range entries {
		if name, err := retention.Parse(entry.Name()); err == nil && entry.IsDir() {
			runs = append(runs, name)
		}
	}
	slices.SortFunc(runs, retention.NewestFirst)
	for _, old := range retention.Excess(runs, func(n retention.Name) string { return n.Kind }, f.Keep) {
		if f.path(old) == present {
			continue
		}
		if err := os.RemoveAll(f.path(old)); err != nil {
			return fmt.Errorf("forget old artifacts: %w", err)
		}
	}
	return nil
}

// Inventory writes the files of the effective inventory by their names, without the secrets in patches of machine configurations.
func (r *Run) Inventory(files map[string][]byte) error {
	clean := make(map[string][]byte, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := redactPatches(files[name])
		if err != nil {
			return fmt.Errorf("effective inventory, %s: %w", name, err)
		}
		clean[name] = text
	}
	return r.writeAll(DirInventory, clean)
}

// MachineConfigurations writes the configuration of each node by its name, without its secrets.
func (r *Run) MachineConfigurations(nodes map[string]string) error {
	files := make(map[string][]byte, len(nodes))
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		text, err := redactConfiguration(nodes[node])
		if err != nil {
			return fmt.Errorf("machine configuration of %s: %w", node, err)
		}
		files[node+".yaml"] = text
	}
	return r.writeAll(dirMachines, files)
}

func (r *Run) writeAll(folder string, files map[string][]byte) error {
	if len(files) == 0 {
		return nil
	}
	dir := filepath.Join(r.Dir, folder)
	if err := os.MkdirAll(dir, privateFolder); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), r.redactor.Redact(text), privateFile); err != nil {
			return fmt.Errorf("artifacts: %w", err)
		}
	}
	return nil
}

// Finish writes the summary and redacts all files again, now also with the secrets that the run has created.
func (r *Run) Finish(end End, secrets []string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.redactor = NewRedactor(append(r.redactor.Secrets(), secrets...))
	text, err := json.MarshalIndent(r.summary(end), "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		r.failed,
		r.events.Close(),
		os.WriteFile(filepath.Join(r.Dir, fileSummary), append(text, '\n'), privateFile),
		r.redactor.redactFolder(r.Dir),
	)
}
