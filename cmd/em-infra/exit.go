package main

import (
	"errors"
	"strings"

	"github.com/em-infra/em-infra/operator"
)

// Exit codes of every command.
const (
	exitOK      = 0
	exitFailed  = 1
	exitChanges = 2 // changes or drift were found
	exitRefused = 3 // nothing was touched: validation, preflight, risk
)

// refused ends the command with code 3: an error, and nothing was changed.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &operator.RefusedError{Err: err}
}

// errUnsound ends a command with code 3 whose result already describes the errors.
var errUnsound = errors.New("the result says what is wrong")

// codedError is an error with an exit code. [exec.ExitError], which may be the cause of another error, is not one: it has no
// Unwrap.
type codedError interface {
	error
	ExitCode() int
	Unwrap() error
}

func exitCode(err error) int {
	var (
		refusal *operator.RefusedError
		coded   codedError // the error of a command that em-infra-lab has, too
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &refusal), errors.Is(err, errUnsound):
		return exitRefused
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.Is(err, operator.ErrChanges):
		return exitChanges
	default:
		return exitFailed
	}
}

// errorText returns the part of an error that is not printed yet: without errors that a result has shown, and without the
// failure of an engine, which [printFailure] prints.
func errorText(err error) string {
	//nolint:errorlint // an error that wraps one of these has more to print
	switch err {
	case nil, errUnsound, operator.ErrChanges, operator.ErrNotWell:
		return ""
	}
	if _, isFailure := err.(*operator.FailedError); isFailure { //nolint:errorlint // the same
		return ""
	}
	joined, isJoined := err.(interface{ Unwrap() []error }) //nolint:errorlint // only a join is taken apart
	if !isJoined || failureIn(err) == nil {
		return err.Error()
	}
	var texts []string
	for _, one := range joined.Unwrap() {
		if text := errorText(one); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// failureIn returns the failure of an engine, also if it is joined with later errors; nil for none.
func failureIn(err error) *operator.FailedError {
	var failure *operator.FailedError
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
