package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
)

// Person confirms operations before they change anything.
type Person interface {
	// Confirm reports whether the person has typed the answer that means yes. It returns an error if the context ends.
	Confirm(ctx context.Context, question Question) (bool, error)
}

// Question is a question to a person.
type Question struct {
	// About is shown before the question. Empty if it was shown already.
	About string
	// Text is the question, with the words to type.
	Text string
	// Yes is the answer that means yes. Every other answer means no.
	Yes string
}

// checkConsent returns an error early if an operation needs consent and there is no person to ask.
func (s *session) checkConsent() error {
	if s.consent == "" || s.options.Person != nil {
		return nil
	}
	return fmt.Errorf("nobody is here to be asked: look at `em-infra preview %s`, then add --yes to %s", s.place.Stack, s.consent)
}

// confirmDestroy shows what would be deleted and asks for consent, unless consent was given beforehand.
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

// ask asks for consent, unless it was given beforehand. Only the stack's name means yes.
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

// untouched returns the end of a refusal: what was changed before it.
func untouched(machinesStarted bool) string {
	if machinesStarted {
		return "nothing was touched but the machines that were started"
	}
	return "nothing was touched"
}
