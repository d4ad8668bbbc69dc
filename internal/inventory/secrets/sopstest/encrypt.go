// Package sopstest encrypts files as sops does, for tests: the keys are created when the test runs.
package sopstest

import (
	"strings"
	"testing"
	"time"

	ageidentity "filippo.io/age"
	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/aes"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/config"
	"github.com/getsops/sops/v3/pgp"
	sopsyaml "github.com/getsops/sops/v3/stores/yaml"
	"github.com/stretchr/testify/require"
)

// NewKey creates an age key for one test.
func NewKey(t testing.TB) *ageidentity.X25519Identity {
	t.Helper()
	key, err := ageidentity.GenerateX25519Identity()
	require.NoError(t, err)
	return key
}

// Encrypt returns a YAML file that is encrypted for the age keys and for a foreign PGP key.
func Encrypt(t testing.TB, plain string, keys ...*ageidentity.X25519Identity) string {
	t.Helper()
	store := sopsyaml.NewStore(&config.YAMLStoreConfig{})
	branches, err := store.LoadPlainFile([]byte(plain))
	require.NoError(t, err)
	dataKey := []byte(strings.Repeat("k", 32))
	somebody := pgp.NewMasterKeyFromFingerprint("85D77543B3D624B63CEA9E6DBC17301B491B3F21")
	somebody.SetEncryptedDataKey([]byte("for somebody"))
	group := sops.KeyGroup{somebody}
	for _, key := range keys {
		master, err := age.MasterKeyFromRecipient(key.Recipient().String())
		require.NoError(t, err)
		require.NoError(t, master.Encrypt(dataKey))
		group = append(group, master)
	}
	tree := sops.Tree{Branches: branches, Metadata: sops.Metadata{
		KeyGroups: []sops.KeyGroup{group}, UnencryptedSuffix: "_unencrypted",
		Version: "3.10.2", LastModified: time.Now().UTC().Truncate(time.Second),
	}}
	cipher := aes.NewCipher()
	sum, err := tree.Encrypt(dataKey, cipher)
	require.NoError(t, err)
	tree.Metadata.MessageAuthenticationCode, err = cipher.Encrypt(sum, dataKey, tree.Metadata.LastModified.Format(time.RFC3339))
	require.NoError(t, err)
	text, err := store.EmitEncryptedFile(tree)
	require.NoError(t, err)
	return string(text)
}
