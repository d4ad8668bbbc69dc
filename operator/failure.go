package operator

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/progress"
)

// failed is the error of an operation whose engine failed: what is wrong, and what that means as far as it is known.
func (s *session) failed(ctx context.Context, operation string, err error) error {
	again := operation + " " + s.place.Stack
	refusal := s.refusal.take()
	switch {
	case ctx.Err() != nil:
		return &FailedError{Operation: operation, Again: again, Interrupted: true}
	case auto.IsConcurrentUpdateError(err):
		return refused(errors.New("another run works on this stack: wait for it to end, then run again"))
	}
	if refusal != nil {
		return refused(refusal)
	}
	reported := s.reported(err)
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

// programRefusal is the error by which the program, which runs in this process, has refused to work before anything was touched. The
// engine passes on no more than its text, among others.
type programRefusal struct {
	mutex sync.Mutex
	err   error
}

// note keeps the first of a run.
func (r *programRefusal) note(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.err = cmp.Or(r.err, err)
}

// take is the refusal of the run that has ended, nil for none. The next run begins without.
func (r *programRefusal) take() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := r.err
	r.err = nil
	return err
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
