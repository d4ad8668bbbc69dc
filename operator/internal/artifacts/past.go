package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/em-infra/em-infra/internal/retention"
)

// Past is a run that left artifacts.
type Past struct {
	// Name of its folder: when it began, and the command.
	Name retention.Name
	// Summary is what it wrote at its end; nil if it was killed, or still works.
	Summary *Summary
}

// ErrNoRun means that there are no artifacts of a run.
var ErrNoRun = errors.New("there are no artifacts of such a run")

// Runs returns the runs that left artifacts, newest first. A folder that does not exist has none.
func (f Folder) Runs() ([]Past, error) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("folder of the artifacts: %w", err)
	}
	var runs []Past
	for _, entry := range entries {
		name, err := retention.Parse(entry.Name())
		if err != nil || !entry.IsDir() {
			continue // it is not ours
		}
		run, err := f.read(name)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	slices.SortStableFunc(runs, func(a, b Past) int { return retention.NewestFirst(a.Name, b.Name) })
	return runs, nil
}

// Run returns one run by the name of its folder. The error is [ErrNoRun] if there is none.
func (f Folder) Run(name string) (Past, error) {
	parsed, err := retention.Parse(name)
	if err != nil {
		return Past{}, fmt.Errorf("%q: %w", name, ErrNoRun)
	}
	if _, err := os.Stat(f.path(parsed)); err != nil {
		return Past{}, fmt.Errorf("%q: %w", name, ErrNoRun)
	}
	return f.read(parsed)
}

func (f Folder) read(name retention.Name) (Past, error) {
	run := Past{Name: name}
	path := filepath.Join(f.path(name), fileSummary)
	text, err := os.ReadFile(path) //nolint:gosec // below the folder of the artifacts
	if errors.Is(err, os.ErrNotExist) {
		return run, nil
	}
	if err != nil {
		return run, fmt.Errorf("artifacts: %w", err)
	}
	if err := json.Unmarshal(text, &run.Summary); err != nil {
		return run, fmt.Errorf("%s: %w: delete the folder, it is read by people only", path, err)
	}
	return run, nil
}
