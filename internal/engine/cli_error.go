package engine

import (
	"errors"
	"strings"
)

// ErrPassphrase means that the passphrase is not that of the stack's secrets.
var ErrPassphrase = errors.New("the passphrase is not that of the stack's secrets")

// CLIError is the error that the CLI has reported.
type CLIError struct {
	// Sentence is the CLI's own.
	Sentence string
}

func (e *CLIError) Error() string { return "pulumi says: " + e.Sentence }

// Reported returns the CLI's error in an error of the Automation API, which quotes the whole output of the CLI and has no other sign of it
// (pulumi sdk/v3 v3.254.0, go/auto/errors.go, autoError): a [CLIError], or [ErrPassphrase] (pkg/v3 v3.254.0, secrets/passphrase/manager.go,
// ErrIncorrectPassphrase). Other errors are returned unchanged.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	_, stderr, quotes := strings.Cut(err.Error(), "\nstderr: ")
	if !quotes {
		return err
	}
	for line := range strings.Lines(stderr) {
		sentence, isError := strings.CutPrefix(strings.TrimSpace(line), "error: ")
		switch {
		case !isError:
		case strings.Contains(sentence, "incorrect passphrase"):
			return ErrPassphrase
		default:
			return &CLIError{Sentence: sentence}
		}
	}
	return err
}
