package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/birth"
	"github.com/em-infra/em-infra/internal/cause"
	"github.com/em-infra/em-infra/internal/explain"
	"github.com/em-infra/em-infra/internal/progress"
	"github.com/em-infra/em-infra/internal/terminal"
)

// failed is the end of a run that failed: what is wrong, what that means as far as it is known, and what to run next.
func (s *session) failed(ctx context.Context, verb string, err error) error {
	again := typed("%s %s", verb, s.place)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(s.out, "\ninterrupted; the state is saved and says what exists. Go on with: %s\n", again)
	case auto.IsConcurrentUpdateError(err):
		return refused(errors.New("another run works on this stack: wait for it to end, then run again"))
	default:
		told := s.reported(err)
		if refusal, found := refusalOf(told); found {
			return refused(errors.New(refusal))
		}
		for _, one := range cause.Of(told, s.nodes()) {
			s.tellCause(one, verb)
		}
		fmt.Fprintf(s.out, "\n%s failed. What was done is in the state, so it is safe to run again: %s\n", verb, again)
	}
	return failedSilently()
}

// reported are the errors that the engine told of, but for its own echo of them: that of a run which failed for no other
// reason. An engine that did not get as far as that has printed something, which the Automation API quotes.
func (s *session) reported(err error) []progress.Failure {
	var told []progress.Failure
	for _, failure := range s.failures {
		if !echo.MatchString(failure.Text) {
			told = append(told, failure)
		}
	}
	if len(told) == 0 {
		told = []progress.Failure{{Text: said(err).Error()}}
	}
	return told
}

// refusalOf is the text of a program that refuses its inventory before it registers anything, or of the hook by which a
// cluster refuses another birth (pulumi pkg/v3 v3.254.0, deployment.go, RunHooks).
func refusalOf(told []progress.Failure) (text string, found bool) {
	for _, failure := range told {
		if !strings.HasSuffix(failure.Text, birth.NothingTouched) {
			continue
		}
		if _, text, hooked := strings.Cut(failure.Text, `-born" failed: `); hooked {
			return text, true
		}
		if len(told) == 1 && failure.Name == "" {
			return failure.Text, true
		}
	}
	return "", false
}

// echo is what the engine says about the whole of a run after what it said about a part (pulumi pkg/v3 v3.254.0,
// engine/deployment.go and resource/deploy/deployment_executor.go).
var echo = regexp.MustCompile(`^(update|preview|destroy|refresh) (failed|canceled)$`)

// nodes are those of the inventory, none for a command that has read none.
func (s *session) nodes() []cause.Node {
	if s.inventory == nil {
		return nil
	}
	var nodes []cause.Node
	for _, node := range s.inventory.Nodes {
		nodes = append(nodes, cause.Node{Name: node.Name, Logical: components.NodeName(s.inventory.Cluster.Name, node.Name)})
	}
	return nodes
}

// tellCause tells what is known about what went wrong, or quotes it, and counts what failed with it.
func (s *session) tellCause(one cause.Cause, verb string) {
	where := ""
	if one.Name != "" {
		where = fmt.Sprintf(" in %s: %s", one.Phase, one.Name)
	}
	fmt.Fprintf(s.out, "\n%s%s\n", terminal.Paint(s.out, terminal.Bad, "failed"), where)
	for _, explanation := range one.Explanations {
		explainText(s.out, s.forThisRun(explanation, verb))
	}
	if len(one.Explanations) == 0 {
		fmt.Fprintf(s.out, "  %s\n", strings.ReplaceAll(one.Text, "\n", "\n  "))
	}
	tellOthers(s.out, one.Because, "because of this")
	tellOthers(s.out, one.Alike, "in the same way")
}

// tellOthers counts what failed with something else, and names it as far as that is read.
func tellOthers(out io.Writer, others []string, how string) {
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

// forThisRun names the command that failed where the table, which does not know it, says up.
func (s *session) forThisRun(e explain.Explanation, verb string) explain.Explanation {
	e.Subject = "" // said in the line before
	command := strings.NewReplacer("run `em-infra up` again", "run `em-infra "+verb+"` again", "up goes on from here", verb+" goes on from here")
	e.Do, e.Safe = s.inPlace(command.Replace(e.Do)), s.inPlace(command.Replace(e.Safe))
	return e
}

// ofStack are the commands of this tool, as messages name them, that work on a stack.
var ofStack = regexp.MustCompile("`em-infra (up|destroy|preview|preflight|status|role|state restore|state unlock|task list)`")

// inPlace puts the flags of this session into the commands that a message names.
func (s *session) inPlace(text string) string {
	return asTyped(ofStack.ReplaceAllStringFunc(text, func(command string) string {
		return strings.TrimSuffix(command, "`") + " " + s.place + "`"
	}))
}
