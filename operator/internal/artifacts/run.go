package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/em-infra/em-infra/operator/internal/retention"
)

// Names in a run's folder.
const (
	fileEvents    = "events.jsonl"
	fileSummary   = "summary.json"
	dirInventory  = "inventory"
	dirMachines   = "machine-configurations"
	timeFormat    = "2006-01-02T15-04-05"
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

// runForm matches the name of a run's folder and its command. Times are in UTC, so that names sort by time.
var runForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-([a-z-]*[a-z])(-\d+)?$`)

// Begin creates the folder of a run and deletes old runs of each command. secrets are the secrets that are known before the run;
// [Run.Finish] adds the ones of the run.
func (f Folder) Begin(clock func() time.Time, command string, secrets []string) (*Run, error) {
	started := clock()
	dir, err := f.makeDir(started.UTC().Format(timeFormat) + "-" + command)
	if err != nil {
		return nil, fmt.Errorf("folder of the artifacts: %w", err)
	}
	if err := f.prune(); err != nil {
		return nil, err
	}
	events, err := os.OpenFile(filepath.Join(dir, fileEvents), os.O_CREATE|os.O_EXCL|os.O_WRONLY, privateFile)
	if err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	return &Run{Dir: dir, clock: clock, started: started, redactor: NewRedactor(secrets), events: events}, nil
}

func (f Folder) makeDir(name string) (string, error) {
	if err := os.MkdirAll(f.Dir, privateFolder); err != nil {
		return "", err
	}
	for turn := 1; ; turn++ {
		dir := filepath.Join(f.Dir, name)
		if turn > 1 {
			dir += "-" + strconv.Itoa(turn)
		}
		if err := os.Mkdir(dir, privateFolder); !errors.Is(err, os.ErrExist) {
			return dir, err
		}
	}
}

func (f Folder) prune() error {
	entries, err := os.ReadDir(f.Dir) // sorted by name, and so by time
	if err != nil {
		return fmt.Errorf("folder of the artifacts: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() || !runForm.MatchString(e.Name()) })
	slices.Reverse(entries)
	commandOf := func(e os.DirEntry) string { return runForm.FindStringSubmatch(e.Name())[1] }
	for _, old := range retention.Excess(entries, commandOf, f.Keep) {
		if err := os.RemoveAll(filepath.Join(f.Dir, old.Name())); err != nil {
			return fmt.Errorf("forget old artifacts: %w", err)
		}
	}
	return nil
}

// Inventory writes the files of the effective inventory by their names.
func (r *Run) Inventory(files map[string][]byte) error { return r.writeAll(dirInventory, files) }

// MachineConfigurations writes the configuration of each node by its name, without the values that Talos treats as secrets.
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
