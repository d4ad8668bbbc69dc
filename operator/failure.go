package operator

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/cause"
	"github.com/em-infra/em-infra/operator/internal/progress"
	"github.com/em-infra/em-infra/operator/internal/recovery"
)

// Failed returns the error of an operation whose engine failed, with the root causes and their explanations, and the errors beside it.
func (e *stackEngine) Failed(ctx context.Context, operation string, err error) error {
	err, beside := apart(err)
	failed := e.failed(ctx, operation, err)
	if beside == nil {
		return failed
	}
	return errors.Join(failed, beside)
}

func (e *stackEngine) failed(ctx context.Context, operation string, err error) error {
	place := e.place
	place.Up = flagsOf(e.consented)
	failure := &FailedError{Operation: operation, Again: strings.Trim(operation+" "+place.Stack+" "+place.Up, " "), WaysBack: e.waysBack}
	refusal, failures := e.refusal.take(), reported(e.failures)
	switch {
	case ctx.Err() != nil:
		failure.Interrupted = true
	case isLocked(err):
		return e.busy(ctx)
	case refusal != nil:
		return refused(refusal)
	case len(failures) == 0:
		failures = []progress.Failure{{Text: sentenceOf(err).Error()}}
	}
	failure.Causes = e.causes(operation, place, failures)
	return failure
}

// causes returns the root causes of failures, with their explanations for an operation.
func (e *stackEngine) causes(operation string, place remedy.Place, failures []progress.Failure) []Cause {
	causes := cause.Of(failures, causeNodes(e.cluster()))
	for i := range causes {
		for j := range causes[i].Explanations {
			explanation := &causes[i].Explanations[j]
			explanation.Subject = "" // the line before names it
			*explanation = explanation.For(operation).At(place)
		}
	}
	return causes
}

// flagsOf returns permissions as the user types them.
func flagsOf(permissions []Permission) string {
	flags := make([]string, len(permissions))
	for i, permission := range permissions {
		flags[i] = permission.String()
	}
	return strings.Join(flags, " ")
}

// isLocked reports whether the engine has met the lock of another run. The Automation API looks at its own error alone, and not at what is
// joined with it (pulumi sdk/v3 v3.254.0, go/auto/errors.go, IsConcurrentUpdateError).
func isLocked(err error) bool {
	if auto.IsConcurrentUpdateError(err) {
		return true
	}
	//nolint:errorlint // it goes through the whole tree by itself
	switch wrapping := err.(type) {
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(wrapping.Unwrap(), isLocked)
	case interface{ Unwrap() error }:
		return isLocked(wrapping.Unwrap())
	default:
		return false
	}
}

// busy returns the refusal of a run that has met the engine's lock of another one, with its owner if that is known.
func (e *stackEngine) busy(ctx context.Context) error {
	if owner, err := recovery.Owner(ctx, e.stateAt()); err == nil && owner != nil {
		return refused(owner)
	}
	return refused(errors.New("another run works on this stack: wait for it to end, then run again"))
}

// reported returns the errors that the engine reported, without the final message about the run as a whole.
func reported(failures []progress.Failure) []progress.Failure {
	return slices.DeleteFunc(slices.Clone(failures), func(failure progress.Failure) bool { return echo.MatchString(failure.Text) })
}

// programRefusal records the error with which the program, which runs in this process, has refused before it changed anything. The
// engine passes on only its text, mixed with other text.
type programRefusal struct {
	mutex sync.Mutex
	err   error
}

// note records the first refusal of a run.
func (r *programRefusal) note(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.err = cmp.Or(r.err, err)
}

// take returns the refusal of the last run, or nil, and clears it for the next run.
func (r *programRefusal) take() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := r.err
	r.err = nil
	return err
}

// echo matches the engine's message about a whole run, which follows the messages about its parts (pulumi pkg/v3 v3.254.0,
// engine/deployment.go and resource/deploy/deployment_executor.go).
var echo = regexp.MustCompile(`^(update|preview|destroy|refresh) (failed|canceled)$`)

// causeNodes returns the nodes of the inventory, or nil if the command has loaded none.
func causeNodes(inv *inventory.Inventory) []cause.Node {
	if inv == nil {
		return nil
	}
	var nodes []cause.Node
	for _, node := range inv.Nodes {
		nodes = append(nodes, cause.Node{Name: node.Name, Logical: components.NodeName(inv.Cluster.Name, node.Name)})
	}
	return nodes
}
