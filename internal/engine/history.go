package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Update is an entry of a stack's history.
type Update struct {
	// Kind is the kind of run, as the engine names it: update, destroy, refresh, import.
	Kind string
	// Result is succeeded or failed.
	Result string
	// Ended is the time of its end, to the second.
	Ended time.Time
}

// LastUpdate returns the newest entry of the stack's history; nil if that is empty.
func (s State) LastUpdate(ctx context.Context) (*Update, error) {
	if last, err := s.readLastUpdate(); err == nil {
		return last, nil
	}
	stdout, stderr, _, err := s.run(ctx, nil, "stack", "history", "--json", "--page-size", "1", "--page", "1", "--stack", s.Stack)
	if err != nil {
		return nil, fmt.Errorf("read the history of %s: %w: %s", s.Stack, err, strings.TrimSpace(stderr))
	}
	var history []struct {
		Kind    string    `json:"kind"`
		Result  string    `json:"result"`
		EndTime time.Time `json:"endTime"`
	}
	if err := json.Unmarshal([]byte(stdout), &history); err != nil {
		return nil, fmt.Errorf("read the history of %s: %w", s.Stack, err)
	}
	if len(history) == 0 {
		return nil, nil //nolint:nilnil // an empty history is no error
	}
	return &Update{Kind: history[0].Kind, Result: history[0].Result, Ended: history[0].EndTime}, nil
}

// readLastUpdate reads it from the state's folder. Names sort by time (pulumi pkg/v3 v3.254.0, backend/diy/state.go,
// getHistory).
func (s State) readLastUpdate() (*Update, error) {
	folder, err := s.inFolder("history", "")
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Backward(files) {
		if strings.Contains(file.Name(), ".history.json") && !strings.HasSuffix(file.Name(), ".attrs") {
			return readUpdate(filepath.Join(folder, file.Name()))
		}
	}
	return nil, errElsewhere
}

// readUpdate reads an entry that is not compressed.
func readUpdate(file string) (*Update, error) {
	text, err := os.ReadFile(file) //nolint:gosec // below the state's folder
	if err != nil {
		return nil, err
	}
	var update struct {
		Kind    string `json:"kind"`
		Result  string `json:"result"`
		EndTime int64  `json:"endTime"`
	}
	if err := json.Unmarshal(text, &update); err != nil {
		return nil, err
	}
	return &Update{Kind: update.Kind, Result: update.Result, Ended: time.Unix(update.EndTime, 0).UTC()}, nil
}
