package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// Problem is one error in an inventory.
type Problem struct {
	// File is relative to the folder that the inventory was loaded from.
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

// Problems are all errors in an inventory, sorted by file and line.
type Problems []Problem

// Error returns one line for each problem and a last line with their number.
func (p *Problems) Error() string {
	var text strings.Builder
	files := map[string]bool{}
	for _, problem := range *p {
		text.WriteString(problem.String() + "\n")
		files[problem.File] = true
	}
	text.WriteString(Counted(len(*p), "problem") + " in " + Counted(len(files), "file") + "; nothing was touched")
	return text.String()
}

// Len returns the number of problems.
func (p *Problems) Len() int { return len(*p) }

// OrNil returns the problems as an error, sorted; nil if there are none.
func (p Problems) OrNil() error {
	if len(p) == 0 {
		return nil
	}
	p.sort()
	return &p
}

func (p *Problems) add(file string, found strictyaml.Finding) {
	*p = append(*p, Problem{File: file, Finding: found})
}

func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

func finding(what, rule, got, do string) strictyaml.Finding {
	return strictyaml.Finding{Fault: strictyaml.Fault{What: what, Rule: rule, Got: got, Do: do}}
}

// Counted returns a number with a noun: 1 file, 2 files.
func Counted(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}
