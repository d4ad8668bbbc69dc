package inventory_test

import (
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/retention"
)

func TestBackups(t *testing.T) {
	t.Parallel()

	require.Equal(t, retention.Rule{Last: 20, Daily: 7, Weekly: 4}, load(t, "valid-minimal").Cluster.Backups.Keep.Rule())
	every := load(t, "valid-every-key").Cluster.Backups
	require.Equal(t, retention.Rule{Last: 5, Daily: 3, Weekly: 2}, every.Keep.Rule())
	require.Equal(t, "s3://backups/home?endpoint=https://nas.example:9000&region=us-east-1&use_path_style=true", every.Bucket.String())
	require.Equal(t, "s3://backups/home", every.Bucket.Shown())
	require.True(t, load(t, "valid-minimal").Cluster.Backups.Bucket.IsZero())
	require.Len(t, every.Recipients, 1)
	require.Equal(t, "age1mlctyyjug8tcnuefthugadpauuc3yv6j0udwhprcd5va02vu6amqp43328", every.Recipients[0].String())
}

// The error about a private key in the place of a public one must not repeat the private key.
func TestAPrivateKeyIsNotRepeated(t *testing.T) {
	t.Parallel()

	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	for _, text := range []string{identity.String(), strings.ToLower(identity.String())} {
		var recipient inventory.Recipient
		err = recipient.UnmarshalText([]byte(text))
		require.EqualError(t, err, "is the private half of an age key (got AGE-SECRET-KEY-…): write its public half, which `age-keygen -y` prints, and make a new key if others can read this file")

		_, err = inventory.Parse("mistaken", []byte("apiVersion: em-infra/v1alpha1\nkind: Cluster\nbackups: {recipients: ["+text+"]}\n"), nil)
		require.Error(t, err)
		require.Contains(t, err.Error(), "backups.recipients[0]: is the private half of an age key (got AGE-SECRET-KEY-…): write its public half")
		require.NotContains(t, strings.ToUpper(err.Error()), identity.String()[15:])
	}
}
