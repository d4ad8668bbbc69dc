package operator

import (
	"errors"
	"strings"
)

// sentenceOf extracts the CLI's error message from an error of the Automation API, which quotes the whole output of the CLI (pulumi
// sdk/v3 v3.254.0, go/auto/errors.go, autoError). Other errors are returned unchanged.
func sentenceOf(err error) error {
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
			return refused(errors.New("the passphrase is not that of the stack's secrets: set PULUMI_CONFIG_PASSPHRASE_FILE to the file that holds it"))
		default:
			return errors.New("pulumi says: " + sentence)
		}
	}
	return err
}
