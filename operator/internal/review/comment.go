package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// Limit is the length of a comment in bytes. GitHub refuses one of more than 65,536 characters.
const Limit = 64_000

// Plan is what a reviewer is shown.
type Plan struct {
	// Stack is the name of the stack. Required.
	Stack string
	// Up is the command that carries out the plan, and nothing else. It is not shown if the plan contains what is impossible. Required.
	Up string
	// Assessment is what the plan means.
	Assessment risk.Assessment
	// Refusal is why up would stop; empty if it would not.
	Refusal string
	// Checks are the checks of the host that did not pass.
	Checks preflight.Report
	// Besides are further sentences, one for each node that runs another image than the inventory's.
	Besides []string
	// Counts are the numbers of resources by operation.
	Counts map[apitype.OpType]int
	// Steps are the operations of the engine that change something.
	Steps []plan.Step
	// Hide returns a text without secrets. Each text goes through it before its markup is escaped. Required.
	Hide func(string) string
}

// Marker is the first line of the comment on a stack. It does not show, and finds the comment that is to be replaced.
func Marker(stack string) string { return "<!-- em-infra:" + stack + " -->" }

// Comment returns the plan as a comment of at most limit bytes: first whether up would refuse it, then what each change means, the
// heaviest first, and the resources folded away. No value of a property is in it. What does not fit is counted.
func (p Plan) Comment(limit int) string {
	head := []string{Marker(p.Stack), "### " + p.Stack + ": " + p.headline()}
	if p.Refusal != "" {
		head = append(head, "", "> **`up` stops here.** "+strings.ReplaceAll(p.escape(p.Refusal), "\n", "\n> "))
	}
	var foot []string
	if len(p.Assessment.Findings)+len(p.Steps) > 0 && !p.Assessment.Impossible() {
		foot = []string{"", "`" + p.Up + "` carries out this plan, and refuses if it is another one by then."}
	}
	room := limit - length(head) - length(foot)

	changes := section(cut(p.changes(), room/2, func(left int) string { return fmt.Sprintf("| | %d more | | |", left) }))
	notes := section(cut(p.notes(), room/8, more))
	checks := fold(p.checksSummary(), cut(p.checkLines(), room/8, more))
	room -= length(changes) + length(notes) + length(checks) + length(fold(p.resourcesSummary(), []string{""}))
	resources := fold(p.resourcesSummary(), cut(p.resourceLines(), room, more))
	return strings.Join(slices.Concat(head, changes, notes, resources, checks, foot), "\n") + "\n"
}

// headline counts the changes by their kinds, the heaviest first.
func (p Plan) headline() string {
	counts := map[risk.Kind]int{}
	for _, f := range p.Assessment.Findings {
		counts[f.Kind]++
	}
	var words []string
	for kind := risk.Impossible; kind >= risk.Create; kind-- {
		if counts[kind] > 0 {
			words = append(words, fmt.Sprintf("%d %s", counts[kind], kind))
		}
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, ", ")
	case len(p.Steps) > 0:
		return "no change of a node"
	default:
		return "nothing would change"
	}
}

// changes returns the rows of the table, the heaviest changes first.
func (p Plan) changes() []string {
	if len(p.Assessment.Findings) == 0 {
		return nil
	}
	findings := slices.Clone(p.Assessment.Findings)
	slices.SortStableFunc(findings, func(a, b risk.Finding) int { return cmp.Compare(b.Kind, a.Kind) })
	rows := []string{"| | | what changes | what that means |", "|---|---|---|---|"}
	for _, f := range findings {
		rows = append(rows, fmt.Sprintf("| **%s** | %s | %s | %s |", f.Kind, p.cell(f.Subject), p.cell(f.What...), p.cell(f.Means...)))
	}
	return rows
}

// notes returns the sentences on the whole run and on nodes without a change.
func (p Plan) notes() []string {
	var lines []string
	for _, note := range slices.Concat(p.Assessment.Notes, p.Besides) {
		lines = append(lines, "- "+p.escape(note))
	}
	for _, unasked := range p.Assessment.Unasked {
		lines = append(lines, "- not asked: "+p.escape(unasked))
	}
	return lines
}

// resourceLines returns a line for each resource, with the properties that differ but not their values.
func (p Plan) resourceLines() []string {
	var lines []string
	for _, s := range p.Steps {
		op := s.Op
		if op == apitype.OpSame {
			op = apitype.OpUpdate // of what was changed by hand
		}
		line := fmt.Sprintf("- %s `%s` (%s)", op, p.Hide(s.URN.Name()), s.URN.Type())
		if differs := slices.Concat(s.Changed, s.ByHand); len(differs) > 0 && s.Op != apitype.OpCreate && s.Op != apitype.OpDelete {
			line += ": " + p.escape(strings.Join(differs, ", "))
		}
		lines = append(lines, line)
	}
	return lines
}

// resourcesSummary counts the resources by operation, in alphabetical order.
func (p Plan) resourcesSummary() string {
	var words []string
	for _, op := range []apitype.OpType{apitype.OpCreate, apitype.OpDelete, apitype.OpReplace, apitype.OpSame, apitype.OpUpdate} {
		if count := p.Counts[op]; count > 0 {
			words = append(words, fmt.Sprintf("%d %s", count, op))
		}
	}
	return "Resources: " + strings.Join(words, ", ")
}

func (p Plan) checksSummary() string {
	return fmt.Sprintf("Checks of the host that did not pass: %d", len(p.Checks))
}

func (p Plan) checkLines() []string {
	var lines []string
	for _, check := range p.Checks {
		line := fmt.Sprintf("- %s: %s", check.Result, p.escape(check.Sentence))
		if check.Remedy != "" {
			line += " → " + p.escape(check.Remedy)
		}
		if len(check.Commands) > 0 {
			line += p.fence(check.Commands)
		}
		lines = append(lines, line)
	}
	return lines
}
