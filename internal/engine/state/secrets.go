package state

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// SecretTexts returns all secrets in a deployment with secrets in plain text, sorted: every text in a value that is marked as secret.
func SecretTexts(deployment apitype.DeploymentV3) ([]string, error) {
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
		if propertymap.IsSecret(v) {
			plain, err := propertymap.Unseal(v)
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
