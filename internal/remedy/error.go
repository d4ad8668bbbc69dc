package remedy

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an error of our own that ends with what to do. The parts are fields, so that a report can use them separately.
type Error struct {
	// What is wrong.
	What error
	// Do is what to do about it.
	Do string
}

// Errorf returns an error that ends with what to do; format and args describe what is wrong.
func Errorf(do, format string, args ...any) error {
	return &Error{What: fmt.Errorf(format, args...), Do: do}
}

// Error returns "what is wrong: what to do".
func (e *Error) Error() string { return e.What.Error() + ": " + e.Do }

func (e *Error) Unwrap() error { return e.What }

// Remedy returns what to do.
func (e *Error) Remedy() string { return e.Do }

// Extend appends a text to an error. If the error ends with what to do, the text becomes part of that.
func Extend(err error, text string) error {
	if what, do := Split(err); do != "" {
		return &Error{What: &rewordedError{text: what, err: err}, Do: do + text}
	}
	return fmt.Errorf("%w%s", err, text)
}

// rewordedError is an error with another text.
type rewordedError struct {
	text string
	err  error
}

func (e *rewordedError) Error() string { return e.text }

func (e *rewordedError) Unwrap() error { return e.err }

// Split returns what is wrong and what to do about it. What to do is the remedy of the outermost error in the chain that has a method Remedy; all
// text before the remedy is what is wrong. If there is no remedy, or the text does not end with it, Split returns the whole text and no remedy.
func Split(err error) (what, do string) {
	var ours interface {
		error
		Remedy() string
	}
	if !errors.As(err, &ours) || ours.Remedy() == "" {
		return err.Error(), ""
	}
	what, ends := strings.CutSuffix(err.Error(), ": "+ours.Remedy())
	if !ends {
		return err.Error(), ""
	}
	return what, ours.Remedy()
}
