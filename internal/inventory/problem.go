package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Problem is one error in an inventory.
type Problem struct {
	// File is relative to the folder that was passed to [Load].
	File string `json:"file"`
	// Finding is the error and its place in the file.
	strictyaml.Finding
}

// String returns file:line: path: what is wrong (the rule; got value): what to do.
func (p Problem) String() string {
	text := p.File + ": "
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d: ", p.File, p.Line)
	}
	if p.Path != "" {
		text += p.Path + ": "
	}
	return text + p.Fault.String()
}

// Problems are all errors in an inventory, sorted by file and line. They are the error of [Load].
type Problems []Problem

// Error returns one line for each problem and a last line with their number.
func (p *Problems) Error() string {
	var text strings.Builder
	files := map[string]bool{}
	for _, problem := range *p {
		text.WriteString(problem.String() + "\n")
		files[problem.File] = true
	}
	text.WriteString(counted(len(*p), "problem") + " in " + counted(len(files), "file") + "; nothing was touched")
	return text.String()
}

// Len returns the number of problems.
func (p *Problems) Len() int { return len(*p) }

func counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
