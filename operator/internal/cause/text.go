package cause

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/terminal"
)

// WriteText writes the explanations of a cause, or its text, and the number of failures that follow from it.
func (c Cause) WriteText(out io.Writer) {
	where := ""
	if c.Name != "" {
		where = fmt.Sprintf(" in %s: %s", c.Phase, c.Name)
	}
	fmt.Fprintf(out, "\n%s%s\n", terminal.Paint(out, terminal.Bad, "failed"), where)
	for _, explanation := range c.Explanations {
		explanation.WriteText(out)
	}
	if len(c.Explanations) == 0 {
		fmt.Fprintf(out, "  %s\n", strings.ReplaceAll(c.Text, "\n", "\n  "))
	}
	writeOthers(out, c.Because, "because of this")
	writeOthers(out, c.Alike, "in the same way")
}

// writeOthers writes the number of other failures, and the first of their names.
func writeOthers(out io.Writer, others []string, how string) {
	const enough = 5
	if len(others) == 0 {
		return
	}
	names := others[:min(enough, len(others))]
	if more := len(others) - len(names); more > 0 {
		names = append(slices.Clone(names), fmt.Sprintf("and %d more", more))
	}
	fmt.Fprintf(out, "  %d more failed %s: %s\n", len(others), how, strings.Join(names, ", "))
}
