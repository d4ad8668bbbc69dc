// Package refusal contains the error of operations that are refused before they change anything.
package refusal

import "errors"

// Error is the error of an operation that changed nothing: validation, preflight, a risk without its flag, or missing consent.
type Error struct {
	// Err contains the reason and what to do.
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Of returns an [Error]; nil for nil.
func Of(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err}
}

// AfterChanges returns an error as that of an operation that has changed something: with the same text and the same causes, but no [Error] is found in
// it.
func AfterChanges(err error) error {
	if err == nil {
		return nil
	}
	return afterChanges{err}
}

// afterChanges has no Unwrap, so that [errors.As] asks its As for the whole tree.
type afterChanges struct{ err error }

func (e afterChanges) Error() string { return e.err.Error() }

func (e afterChanges) Is(target error) bool { return errors.Is(e.err, target) }

func (e afterChanges) As(target any) bool {
	if _, isRefusal := target.(**Error); isRefusal {
		return false
	}
	return errors.As(e.err, target)
}
