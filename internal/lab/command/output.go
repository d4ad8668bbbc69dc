package command

import "github.com/em-infra/em-infra/internal/output"

// checkOutput returns an error for an unknown format.
func checkOutput(format string) error {
	if err := output.Check(format); err != nil {
		return Refused(err)
	}
	return nil
}
