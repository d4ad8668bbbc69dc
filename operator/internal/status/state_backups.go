package status

import (
	"fmt"
	"io"
	"time"
)

// StateBackups are the backups of the state in the bucket with the state.
type StateBackups struct {
	// URL of the bucket, without parameters.
	URL string `json:"url"`
	// Newest is the newest one; absent if there is none, or if the bucket does not say what it has.
	Newest *Copy `json:"newest,omitempty"`
	// Missing is the number of backups on this machine that the bucket lacks and should have.
	Missing int `json:"missing,omitempty"`
	// Problem is why the bucket does not say what it has, in a sentence that ends with what to do; empty if it does.
	Problem string `json:"problem,omitempty"`
}

// text returns the age of the newest one.
func (b *StateBackups) text(now time.Time) string {
	switch {
	case b.Problem != "":
		return "of the state, unknown in " + b.URL
	case b.Newest == nil:
		return "of the state, none in " + b.URL
	default:
		return fmt.Sprintf("of the state, the newest in %s %s old", b.URL, age(now.Sub(b.Newest.Taken)))
	}
}

// printFinding prints what is missing, and what to do.
func (b *StateBackups) printFinding(out io.Writer) {
	switch {
	case b.Problem != "":
		fmt.Fprintf(out, "backups       %s\n", b.Problem)
	case b.Missing > 0:
		fmt.Fprintf(out, "backups       %d of the state on this machine are missing in %s: `em-infra up` and `em-infra state backup` copy them\n", b.Missing, b.URL)
	case b.Newest == nil:
		fmt.Fprintf(out, "backups       %s has none of the state: `em-infra state backup` makes one\n", b.URL)
	}
}
