package operator

import "errors"

// engineError is the error of an engine's run with errors beside it: of its artifacts, or of the plugins that were to end with it.
type engineError struct{ engine, beside error }

// withBeside adds an error to that of an engine's run. Both may be nil.
func withBeside(engine, beside error) error {
	switch {
	case beside == nil:
		return engine
	case engine == nil:
		return beside
	default:
		return &engineError{engine, beside}
	}
}

func (e *engineError) Error() string { return e.engine.Error() + "\n" + e.beside.Error() }

func (e *engineError) Unwrap() []error { return []error{e.engine, e.beside} }

// apart returns the error of an engine's run and the errors beside it.
func apart(err error) (engine, beside error) {
	found := new(engineError)
	if !errors.As(err, &found) {
		return err, nil
	}
	engine, more := apart(found.engine)
	return engine, withBeside(more, found.beside)
}
