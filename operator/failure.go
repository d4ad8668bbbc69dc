package operator

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/birth"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

// failed is the error of an operation whose engine failed: what is wrong, and what that means as far as it is known.
func (s *session) failed(ctx context.Context, operation string, err error) error {
	again := operation + " " + s.place.Stack
	switch {
	case ctx.Err() != nil:
		return &FailedError{Operation: operation, Again: again, Interrupted: true}
	case auto.IsConcurrentUpdateError(err):
		return refused(errors.New("another run works on this stack: wait for it to end, then run again"))
	}
	reported := s.reported(err)
	if refusal, found := refusalOf(reported); found {
		return refused(errors.New(refusal))
	}
	causes := cause.Of(reported, s.nodes())
	for i := range causes {
		for j := range causes[i].Explanations {
			e := &causes[i].Explanations[j]
			e.Subject = "" // said in the line before
			*e = e.For(operation).At(s.place)
		}
	}
	return &FailedError{Operation: operation, Again: again, Causes: causes}
}

// reported are the errors that the engine reported, except for its own echo of them: that of a run which failed for no other
// reason. An engine that did not get as far as that has printed something, which the Automation API quotes.
func (s *session) reported(err error) []progress.Failure {
	var reported []progress.Failure
	for _, failure := range s.failures {
		if !echo.MatchString(failure.Text) {
			reported = append(reported, failure)
		}
	}
	if len(reported) == 0 {
		reported = []progress.Failure{{Text: sentenceOf(err).Error()}}
	}
	return reported
}

// refusalOf is the text of a program that refuses its inventory before it registers anything, or of the hook by which a
// cluster refuses another birth (pulumi pkg/v3 v3.254.0, deployment.go, RunHooks).
func refusalOf(reported []progress.Failure) (text string, found bool) {
	for _, failure := range reported {
		if !strings.HasSuffix(failure.Text, birth.NothingTouched) {
			continue
		}
		if _, text, hooked := strings.Cut(failure.Text, `-born" failed: `); hooked {
			return text, true
		}
		if len(reported) == 1 && failure.Name == "" {
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
