package truenas_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/truenas/truenastest"
	"github.com/em-infra/em-infra/internal/truenas"
)

// TestAKeyOfAnotherUserIsLeftAlone: names of keys are unique on a box, so that one can have the name of an account.
func TestAKeyOfAnotherUserIsLeftAlone(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	client, err := box.Connection.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	account := func(name string) truenas.Account {
		return truenas.Account{Name: name, Roles: []string{"DATASET_WRITE"}, Owner: "home/em-infra"}
	}
	_, err = client.WriteAccount(t.Context(), account("backup"), false)
	require.NoError(t, err)
	var made struct {
		ID  int    `json:"id"`
		Key string `json:"key"`
	}
	box.Call(&made, "api_key.create", map[string]any{"name": "csi", "username": "backup"})
	works := func() error {
		c := box.Connection
		c.Username, c.APIKey = "backup", made.Key
		other, err := c.Open(t.Context())
		if err == nil {
			require.NoError(t, other.Close())
		}
		return err
	}
	require.NoError(t, works())

	for _, known := range []bool{false, true} {
		_, err = client.WriteAccount(t.Context(), account("csi"), known)
		require.EqualError(t, err, "the API key csi on TrueNAS is of backup, and was not touched (an account and its key have one name, and names of keys are unique): rename that key in Credentials > Users > API Keys, then run up again")
	}
	found, err := client.FindAccount(t.Context(), account("csi"))
	require.NoError(t, err)
	require.Nil(t, found, "nothing was written")
	require.NoError(t, works(), "it is not reset")

	// An account whose key was renamed, after which another user has made one of its name.
	box.Call(nil, "api_key.update", made.ID, map[string]any{"name": "spare"})
	_, err = client.WriteAccount(t.Context(), account("csi"), false)
	require.NoError(t, err)
	var keys []struct {
		ID int `json:"id"`
	}
	box.Call(&keys, "api_key.query", []any{[]any{"name", "=", "csi"}})
	box.Call(nil, "api_key.update", keys[0].ID, map[string]any{"name": "old"})
	box.Call(nil, "api_key.update", made.ID, map[string]any{"name": "csi"})
	kept, err := client.RemoveAccount(t.Context(), account("csi"))
	require.NoError(t, err)
	require.Nil(t, kept)
	require.NoError(t, works(), "it is not deleted")
}

// TestAKeyThatHasExpiredIsReplaced: TrueNAS does not show it as revoked, and a reset alone leaves its end as it is.
func TestAKeyThatHasExpiredIsReplaced(t *testing.T) {
	t.Parallel()
	box := truenastest.Serve(t)
	client, err := box.Connection.Open(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	account := truenas.Account{Name: "csi", Roles: []string{"DATASET_WRITE"}, Owner: "home/em-infra"}
	_, err = client.WriteAccount(t.Context(), account, false)
	require.NoError(t, err)
	var keys []struct {
		ID int `json:"id"`
	}
	box.Call(&keys, "api_key.query", []any{[]any{"name", "=", "csi"}})
	ends := time.Now().Add(-time.Hour)
	box.SetClock(ends.Add(-time.Hour))
	box.Call(nil, "api_key.update", keys[0].ID, map[string]any{"expires_at": map[string]any{"$date": ends.UnixMilli()}})
	box.SetClock(ends.Add(time.Hour))

	found, err := client.FindAccount(t.Context(), account)
	require.NoError(t, err)
	require.False(t, found.HasKey)
	key, err := client.WriteAccount(t.Context(), account, true)
	require.NoError(t, err)
	c := box.Connection
	c.Username, c.APIKey = "csi", key
	other, err := c.Open(t.Context())
	require.NoError(t, err)
	require.NoError(t, other.Close())
	found, err = client.FindAccount(t.Context(), account)
	require.NoError(t, err)
	require.True(t, found.HasKey)
}
