package preflight

import (
	"fmt"
	"io"
	"slices"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/terminal"
)

// tones of what a check may end with.
var tones = map[Result]terminal.Tone{OK: terminal.Good, Warn: terminal.Warn, Fail: terminal.Bad}

// WriteText writes the checks for a person: a line for each, and what to do below.
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
	}
}

// At are the checks with the commands that they name as they are typed at a place.
func (r Report) At(place remedy.Place) Report {
	there := slices.Clone(r)
	for i := range there {
		there[i].Sentence, there[i].Remedy = place.Complete(there[i].Sentence), place.Complete(there[i].Remedy)
	}
	return there
}
