package retention_test

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/retention"
)

var evening = time.Date(2026, 11, 20, 22, 15, 0, 0, time.UTC)

func TestNames(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]retention.Name{
		"2026-11-20T22-15-00-up":           {Taken: evening, Kind: "up", Turn: 1},
		"2026-11-20T22-15-00-before-up-12": {Taken: evening, Kind: "before-up", Turn: 12},
	} {
		parsed, err := retention.Parse(text)
		require.NoError(t, err)
		require.Equal(t, name, parsed)
		require.Equal(t, text, name.String())
	}
	for _, text := range []string{"", "new-123", "2026-11-20T22-15-00", "2026-11-20T22-15-00-up.json", "2026-11-20-up", "2026-11-20T22-15-00-up-02", "2026-11-20T22-15-00-up-1", "2026-11-20T22-15-00-up-99999999999999999999"} {
		_, err := retention.Parse(text)
		require.ErrorIs(t, err, retention.ErrNoName, text)
	}
	_, err := retention.Parse("2026-13-20T22-15-00-up")
	require.ErrorContains(t, err, "month out of range")
}

func TestNewestFirst(t *testing.T) {
	t.Parallel()
	names := []retention.Name{{Taken: evening, Kind: "up", Turn: 1}, {Taken: evening, Kind: "up", Turn: 10}, {Taken: evening.Add(time.Second), Kind: "up", Turn: 1}}
	slices.SortFunc(names, retention.NewestFirst)
	require.Equal(t, []string{"2026-11-20T22-15-01-up", "2026-11-20T22-15-00-up-10", "2026-11-20T22-15-00-up"},
		[]string{names[0].String(), names[1].String(), names[2].String()})
}

func TestCreateTakesTheNextFreeName(t *testing.T) {
	t.Parallel()
	var tried []string
	name, err := retention.Create(evening.In(time.FixedZone("CET", 3600)).Add(time.Millisecond), "up", func(n retention.Name) error {
		tried = append(tried, n.String())
		if n.Turn < 3 {
			return &os.PathError{Op: "mkdir", Path: n.String(), Err: os.ErrExist}
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, "2026-11-20T22-15-00-up-3", name.String())
	require.Equal(t, []string{"2026-11-20T22-15-00-up", "2026-11-20T22-15-00-up-2", "2026-11-20T22-15-00-up-3"}, tried)

	full := errors.New("no space left on device")
	_, err = retention.Create(evening, "up", func(retention.Name) error { return full })
	require.ErrorIs(t, err, full)
}
