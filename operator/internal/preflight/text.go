package preflight

import (
	"fmt"
	"io"

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
