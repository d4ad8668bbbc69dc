package operator

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/remedy"
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

// consent is the consent that an operation needs before it changes anything.
type consent struct {
	purpose   string // completes "type the name of the stack to …"; empty if no consent is needed
	person    Person // nil if no person can be asked
	stack     string
	place     remedy.Place
	restarted func() bool // whether machines were started already
	again     bool        // the run has changed the machines already, with consent
}

// needed reports whether a person must agree.
func (c consent) needed() bool { return c.purpose != "" }

// check returns an error early if an operation needs consent and there is no person to ask.
func (c consent) check() error {
	if !c.needed() || c.person != nil {
		return nil
	}
	return fmt.Errorf("consent cannot be asked for without a terminal: look at `em-infra preview %s`, then add --yes to %s", c.place.Stack, c.purpose)
}

// ask asks for consent, unless it was given beforehand. Only the stack's name means yes.
func (c consent) ask(ctx context.Context) error {
	if !c.needed() {
		return nil
	}
	agreed, err := c.person.Confirm(ctx, Question{
		Text: fmt.Sprintf("Type the name of the stack, %s, to %s: ", c.stack, c.purpose), Yes: c.stack,
	})
	switch {
	case err != nil:
		return refused(err)
	case !agreed && c.again:
		return refused(errors.New("not confirmed; nothing more was touched: run up again to go on"))
	case !agreed:
		return refused(errors.New("not confirmed; " + untouched(c.restarted())))
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
