package propertymap_test

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

func TestSealIsUndoneByUnseal(t *testing.T) {
	t.Parallel()
	secret := rand.Text() + "\n\"quoted\""
	sealed, err := propertymap.Seal(secret)
	require.NoError(t, err)
	plain, err := propertymap.Unseal(sealed)
	require.NoError(t, err)
	require.Equal(t, secret, plain)
}
