package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
)

// Person is asked before anything is changed.
type Person interface {
	// Confirm reports whether the person has answered a question with the words that mean yes. An end of the context is an
	// error.
	Confirm(ctx context.Context, question Question) (bool, error)
}

// Question is put to a person.
type Question struct {
	// About is what the person has to know first; empty if that was shown before.
	About string
	// Text is the question, which says what to type.
	Text string
	// Yes is what has to be typed for a yes. Everything else is a no.
	Yes string
}

// checkConsent refuses early where consent is needed and nobody can be asked for it.
func (s *session) checkConsent() error {
	if s.consent == "" || s.options.Person != nil {
		return nil
	}
	return fmt.Errorf("nobody is here to be asked: look at `em-infra preview %s`, then add --yes to %s", s.place.Stack, s.consent)
}

// confirmDestroy shows what would be deleted and asks, unless the answer came with the operation.
func (s *session) confirmDestroy(ctx context.Context) error {
	if s.consent == "" {
		s.recovered(s.recovery.Deletions()...)
		return nil
	}
	seen, err := s.previewed(ctx, func(run engineRun) error {
		_, err := s.stack.PreviewDestroy(ctx, optdestroy.ProgressStreams(run.out), optdestroy.ErrorProgressStreams(run.err), optdestroy.EventStreams(run.events))
		return err
	})
	if err != nil {
		return err
	}
	s.emit(Assessed{s.assess(seen)})
	return s.ask(ctx)
}

// ask takes the stack's name for a yes and everything else for a no. Nobody is asked who has agreed already.
func (s *session) ask(ctx context.Context) error {
	if s.consent == "" {
		return nil
	}
	agreed, err := s.options.Person.Confirm(ctx, Question{
		Text: fmt.Sprintf("Type the name of the stack, %s, to %s: ", s.workspace.Stack, s.consent), Yes: s.workspace.Stack,
	})
	switch {
	case err != nil:
		return refused(err)
	case !agreed:
		return refused(errors.New("not confirmed; " + untouched(s.recovery.Restarted())))
	}
	return nil
}

// untouched says how much is as it was.
func untouched(machinesStarted bool) string {
	if machinesStarted {
		return "nothing was touched but the machines that were started"
	}
	return "nothing was touched"
}
