package backup_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/backup"
)

// TestOlderBackupsNameTheirPassphrase: what a new passphrase opens keeps its name, and the names are given once.
func TestOlderBackupsNameTheirPassphrase(t *testing.T) {
	t.Parallel()
	store := backup.Store{Dir: t.TempDir()}
	morning := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for i, text := range []string{"former 1", "former 2", "new 3"} {
		_, err := store.Save(morning.Add(time.Duration(i)*time.Minute), "before-up", []byte(text))
		require.NoError(t, err)
	}
	opens := func(text []byte) (bool, error) { return string(text[:3]) == "new", nil }
	for range 2 {
		marked, unread, err := store.MarkFormer(opens)
		require.NoError(t, err)
		require.Empty(t, unread)
		require.Equal(t, 2, marked)
	}
	list, err := store.List()
	require.NoError(t, err)
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
		text, err := one.Text()
		require.NoError(t, err)
		isNew, _ := opens(text)
		require.Equal(t, !isNew, one.NeedsFormerPassphrase())
	}
	require.Equal(t, []string{"2026-11-23T09-02-00-before-up", "2026-11-23T09-01-00-before-up-former-passphrase", "2026-11-23T09-00-00-before-up-former-passphrase"}, names)
	marked, unread, err := store.MarkFormer(func([]byte) (bool, error) { return false, errors.New("it is torn") })
	require.NoError(t, err, "one that is damaged stops no rotation")
	require.Equal(t, 2, marked)
	require.Len(t, unread, 1)
	require.EqualError(t, unread[0], list[0].Path+": it is torn")
	require.FileExists(t, list[0].Path, "it is left as it is")

	marked, unread, err = store.MarkFormer(func([]byte) (bool, error) { return false, &engine.FormatError{Stack: "k3s-dev", What: "has format 5"} })
	require.NoError(t, err)
	require.Empty(t, unread, "one of a newer format is sound")
	require.Equal(t, 3, marked)
}
