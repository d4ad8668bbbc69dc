package command

import "github.com/em-infra/em-infra/internal/output"

// checkOutput refuses a format that does not exist.
func checkOutput(format string) error {
	if err := output.Check(format); err != nil {
		return Refused(err)
	}
	return nil
}
