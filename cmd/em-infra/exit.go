package main

import "errors"

// Exit codes of every command.
const (
	exitOK      = 0
	exitFailed  = 1
	exitChanges = 2 // changes or drift were found
	exitRefused = 3 // nothing was touched: validation, preflight, risk
)

// exitError carries an exit code; err is what is still to be printed, nil when everything was said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// ExitCode is the process's exit code.
func (e *exitError) ExitCode() int { return e.code }

// refused ends the command with code 3: something is wrong and nothing was touched.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitRefused, err: err}
}

// changesFound ends a preview with code 2; the engine has printed them.
func changesFound() error { return &exitError{code: exitChanges} }

// failedSilently ends the command with code 1 when the reason is printed already.
func failedSilently() error { return &exitError{code: exitFailed} }

func exitCode(err error) int {
	var coded interface{ ExitCode() int }
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &coded):
		return coded.ExitCode()
	default:
		return exitFailed
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
