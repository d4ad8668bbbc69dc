package artifacts

import (
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
)

var errConfiguration = errors.New("it is none that Talos reads: run up again") // without the cause, which could quote a secret

func redactConfiguration(text string) ([]byte, error) {
	config, err := configloader.NewFromBytes([]byte(text))
	if err != nil {
		return nil, errConfiguration
	}
	clean, err := config.RedactSecrets(redacted).EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	if err != nil {
		return nil, errConfiguration
	}
	return clean, nil
}
