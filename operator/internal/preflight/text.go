package preflight

import (
	"fmt"
	"io"
	"slices"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
)

// tones are the colours of the results.
var tones = map[Result]terminal.Tone{OK: terminal.Good, Warn: terminal.Warn, Fail: terminal.Bad}

// WriteText writes the checks as text, one line each, with the remedy and the commands below.
func (r Report) WriteText(out io.Writer) {
	for _, check := range r {
		result := string(check.Result)
		if check.Result == Fail {
			result = "FAIL" // it must not be overlooked
		}
		fmt.Fprintf(out, " %s  %s\n", terminal.Paint(out, tones[check.Result], terminal.Pad(result, 4)), check.Sentence)
		if check.Remedy != "" {
			fmt.Fprintf(out, "       → %s\n", check.Remedy)
		}
		for _, command := range check.Commands {
			fmt.Fprintf(terminal.Raw(out), "         %s\n", command) // to be copied
		}
	}
}

// At returns the checks with the commands in their texts completed for a place.
func (r Report) At(place remedy.Place) Report {
	there := slices.Clone(r)
	for i := range there {
		there[i].Sentence, there[i].Remedy = place.Complete(there[i].Sentence), place.Complete(there[i].Remedy)
	}
	return there
}
