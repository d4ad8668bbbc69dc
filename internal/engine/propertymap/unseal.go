package propertymap

import (
	"encoding/json"
	"errors"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
)

// ErrSealed means that a secret of a deployment is not in clear text. It wraps no cause, which could quote it.
var ErrSealed = errors.New("a secret in the state is not in clear: export it with its secrets")

// Unseal replaces marked secrets by their values, at any depth of a property of a deployment with its secrets in clear text.
// The error is [ErrSealed].
func Unseal(value any) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		if IsSecret(v) {
			return open(v)
		}
		plain := make(map[string]any, len(v))
		for name, member := range v {
			var err error
			if plain[name], err = Unseal(member); err != nil {
				return nil, err
			}
		}
		return plain, nil
	case []any:
		plain := make([]any, len(v))
		for i, item := range v {
			var err error
			if plain[i], err = Unseal(item); err != nil {
				return nil, err
			}
		}
		return plain, nil
	default:
		return value, nil
	}
}

func open(sealed map[string]any) (any, error) {
	text, isText := sealed["plaintext"].(string)
	if !isText {
		return nil, ErrSealed
	}
	var plain any
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		return nil, ErrSealed
	}
	return Unseal(plain)
}

// IsSecret reports whether a value is marked as a secret.
func IsSecret(value any) bool {
	marked, _ := value.(map[string]any)
	return marked[sig.Key] == sig.Secret
}
