// Package refusal contains the error of operations that are refused before they change anything.
package refusal

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
