package operator

import (
	"errors"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/remedy"
)

// sentenceOf returns the CLI's error message instead of its whole output, and refuses a wrong passphrase. Other errors are returned unchanged.
func sentenceOf(err error) error {
	if errors.Is(err, engine.ErrPassphrase) {
		return err // an earlier call has returned it
	}
	err = engine.Reported(err)
	if errors.Is(err, engine.ErrPassphrase) {
		return refused(remedy.Errorf("set PULUMI_CONFIG_PASSPHRASE_FILE to the file that holds it", "%w", err))
	}
	return err
}
