package risk

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/em-infra/em-infra/internal/terminal"
)

// WriteText writes the assessment, one line for each fact.
func (a Assessment) WriteText(out io.Writer) error {
	width := 0
	for _, f := range a.Findings {
		width = max(width, utf8.RuneCountInString(f.Subject))
	}
	for _, f := range a.Findings {
		kind := terminal.Paint(out, f.Kind.tone(), terminal.Pad(f.Kind.String(), 8))
		if _, err := fmt.Fprintf(out, " %s %s  %s\n", kind, terminal.Pad(f.Subject, width), strings.Join(f.What, "; ")); err != nil {
			return err
		}
		for _, means := range f.Means {
			if _, err := fmt.Fprintf(out, "          %s\n", means); err != nil {
				return err
			}
		}
	}
	for _, note := range a.Notes {
		if _, err := fmt.Fprintf(out, "%s\n", note); err != nil {
			return err
		}
	}
	if len(a.Findings)+len(a.Notes) == 0 {
		if _, err := fmt.Fprintln(out, "nothing would change"); err != nil {
			return err
		}
	}
	for _, unasked := range a.Unasked {
		if _, err := fmt.Fprintf(out, "not asked: %s\n", unasked); err != nil {
			return err
		}
	}
	return nil
}

// Refusal returns why a run with these permissions stops, and what to do; empty if it may run.
func (a Assessment) Refusal(given []Permission) string {
	var ways []string
	if missing := a.Missing(given); len(missing) > 0 && !a.Impossible() {
		var flags []string
		for _, permission := range missing {
			flags = append(flags, permission.String())
		}
		ways = append(ways, "say "+strings.Join(flags, " ")+" to go on")
	} else if len(missing) == 0 && !a.Impossible() {
		return ""
	}
	for _, f := range a.Findings {
		if f.Kind != Impossible && len(f.Needs) == 0 {
			continue
		}
		for _, undo := range f.Undo {
			way := undo
			if undo != bringBack {
				way += forSubject(undo, f.Subject)
			}
			if undo != "" && !slices.Contains(ways, way) {
				ways = append(ways, way)
			}
		}
	}
	return "refused: " + strings.Join(ways, ", or ")
}

// forSubject adds the subject to an edit that does not name it.
func forSubject(undo, subject string) string {
	if strings.Contains(undo, subject) {
		return ""
	}
	return " for " + subject
}
