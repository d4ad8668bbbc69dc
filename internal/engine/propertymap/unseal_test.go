package propertymap_test

import (
	"crypto/rand"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/sig"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

func sealed(plaintext any) map[string]any {
	return map[string]any{sig.Key: sig.Secret, "plaintext": plaintext}
}

func TestUnseal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		value, want any
	}{
		{"in clear", "text", "text"},
		{"a text", sealed(`"text"`), "text"},
		{"members", map[string]any{"a": sealed(`1`), "b": true}, map[string]any{"a": 1.0, "b": true}},
		{"items", []any{sealed(`"a"`), "b"}, []any{"a", "b"}},
		{"a secret within one", sealed(`{"inner": {"` + sig.Key + `": "` + sig.Secret + `", "plaintext": "\"deep\""}}`), map[string]any{"inner": "deep"}},
		{"nothing", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plain, err := propertymap.Unseal(test.value)
			require.NoError(t, err)
			require.Equal(t, test.want, plain)
		})
	}
}

func TestUnsealQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, value := range []any{
		sealed(nil), sealed(rand.Text()), map[string]any{sig.Key: sig.Secret, "ciphertext": rand.Text()}, []any{sealed(rand.Text())},
	} {
		_, err := propertymap.Unseal(value)
		require.Equal(t, propertymap.ErrSealed, err)
	}
}
