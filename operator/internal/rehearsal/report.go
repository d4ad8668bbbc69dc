package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/terminal"
)

// Report is the result of a rehearsal.
type Report struct {
	// Cluster is the cluster's name.
	Cluster string `json:"cluster"`
	// Expected is whether every step was done and nothing was different from what was expected.
	Expected bool `json:"expected"`
	// Seconds is the time of all steps.
	Seconds float64 `json:"seconds"`
	// Steps in the order in which they were done. What follows a step that failed was not done.
	Steps []Step `json:"steps"`
}

// Step is the result of one step of a rehearsal.
type Step struct {
	// Name of the step, such as "scale up".
	Name string `json:"name"`
	// Seconds that it took.
	Seconds float64 `json:"seconds"`
	// Note is what was seen, in a few words.
	Note string `json:"note,omitempty"`
	// Differences from what was expected, a sentence each.
	Differences []string `json:"differences,omitempty"`
	// Error is why the step could not be done; empty when it was.
	Error string `json:"error,omitempty"`
}

// NewReport returns an empty report.
func NewReport(cluster string) *Report { return &Report{Cluster: cluster, Expected: true} }

// Add adds a step.
func (r *Report) Add(step Step) {
	r.Steps = append(r.Steps, step)
	r.Seconds += step.Seconds
	r.Expected = r.Expected && step.Error == "" && len(step.Differences) == 0
}

// Failed returns the name of the step that failed, or "".
func (r *Report) Failed() string {
	at := slices.IndexFunc(r.Steps, func(s Step) bool { return s.Error != "" })
	if at < 0 {
		return ""
	}
	return r.Steps[at].Name
}

// nameColumn is wider than the column of a run, whose parts have shorter names.
const nameColumn = 11

// WriteText writes the step as one line, with each difference below.
func (s Step) WriteText(w io.Writer) {
	note := s.Note
	if s.Error != "" {
		note = terminal.Paint(w, terminal.Bad, "failed")
	}
	terminal.WriteTimed(w, nameColumn, s.Name, note, time.Duration(s.Seconds*float64(time.Second)))
	for _, difference := range s.Differences {
		fmt.Fprintf(w, "             → %s\n", difference)
	}
	for line := range strings.Lines(s.Error) {
		fmt.Fprintf(w, "             → %s\n", strings.TrimRight(line, "\n"))
	}
}

// Verdict returns the result of the rehearsal in one sentence.
func (r *Report) Verdict() string {
	differences := 0
	for _, step := range r.Steps {
		differences += len(step.Differences)
	}
	verdict := "all as expected"
	switch {
	case r.Failed() != "":
		verdict = r.Failed() + " failed, so what follows it was not rehearsed"
	case differences == 1:
		verdict = "one difference from what was expected"
	case differences > 1:
		verdict = fmt.Sprintf("%d differences from what was expected", differences)
	}
	return fmt.Sprintf("%s is rehearsed in %.1f s: %s", r.Cluster, r.Seconds, verdict)
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(terminal.Raw(w))
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}
