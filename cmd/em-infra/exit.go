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

// refused ends the command with code 3: something is wrong and nothing was touched.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return &operator.RefusedError{Err: err}
}

// errUnsound ends a command with code 3 whose result says already what is wrong.
var errUnsound = errors.New("the result says what is wrong")

// codedError knows its exit code. The error of a process that has ended, which may be the cause of another one, is none: it wraps
// nothing.
type codedError interface {
	error
	ExitCode() int
	Unwrap() error
}

func exitCode(err error) int {
	var (
		refusal *operator.RefusedError
		coded   codedError // of a command that another program has, too
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

// errorText returns what is still to be printed of an error: not what a result has shown already, and not the failure of an
// engine, which [printFailure] prints.
func errorText(err error) string {
	//nolint:errorlint // what wraps one of these has something to say
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

// failureIn returns the failure of an engine, alone or with errors of what was done afterwards; nil for none.
func failureIn(err error) *operator.FailedError {
	var failure *operator.FailedError
	if errors.As(err, &failure) {
		return failure
	}
	return nil
}
