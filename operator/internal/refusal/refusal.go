// Package refusal is the error of what was not begun.
package refusal

// Error ends an operation that touched nothing: validation, preflight, a risk that nobody has allowed, or a consent that was not
// given.
type Error struct {
	// Err says what is in the way and what to do.
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Of ends an operation that touched nothing; nil for nil.
func Of(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Err: err}
}
