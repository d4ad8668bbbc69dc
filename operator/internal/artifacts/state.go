package artifacts

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
)

// SecretsOf returns all secrets in a deployment with secrets in plain text: every text in a value that is marked as secret.
func SecretsOf(deployment *apitype.DeploymentV3) ([]string, error) {
	var found []string
	for _, r := range deployment.Resources {
		for _, properties := range []map[string]any{r.Inputs, r.Outputs} {
			if err := collect(properties, false, &found); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// collect appends all texts in a value if it is secret, else only the texts in values that are marked as secret.
func collect(value any, secret bool, found *[]string) error {
	switch v := value.(type) {
	case string:
		if secret {
			*found = append(*found, v)
		}
	case []any:
		for _, item := range v {
			if err := collect(item, secret, found); err != nil {
				return err
			}
		}
	case map[string]any:
		if v[sig.Key] == sig.Secret {
			plain, err := engine.Unseal(v)
			if err != nil {
				return err
			}
			return collect(plain, true, found)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := collect(v[name], secret, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// Applied returns the machine configurations in a deployment with secrets in plain text, by the node's logical name. They contain
// secrets.
func Applied(deployment *apitype.DeploymentV3) (map[string]string, error) {
	nodes := make(map[string]string)
	for _, r := range deployment.Resources {
		if r.Type != token.Configuration || r.Delete {
			continue
		}
		var texts []string
		if err := collect(r.Inputs["machineConfigurationInput"], true, &texts); err != nil {
			return nil, err
		}
		if len(texts) != 1 {
			continue // its creation was interrupted
		}
		nodes[strings.TrimSuffix(r.URN.Name(), "-configuration")] = texts[0]
	}
	return nodes, nil
}

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
