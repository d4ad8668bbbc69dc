package remedy_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	ours := remedy.Errorf("mount it: see its log", "the folder %s cannot be used (%w)", "/state", fs.ErrPermission)
	require.EqualError(t, ours, "the folder /state cannot be used (permission denied): mount it: see its log")
	require.ErrorIs(t, ours, fs.ErrPermission)
	for _, test := range []struct {
		name     string
		err      error
		what, do string
	}{
		{"of our own", ours, "the folder /state cannot be used (permission denied)", "mount it: see its log"},
		{"with words before it", fmt.Errorf("back up: %w", ours), "back up: the folder /state cannot be used (permission denied)", "mount it: see its log"},
		{"joined with nothing", errors.Join(ours, nil), "the folder /state cannot be used (permission denied)", "mount it: see its log"},
		{"with another remedy after it", remedy.Errorf("try again", "%w, which is sad", ours), ours.Error() + ", which is sad", "try again"},
		{"with words after it", fmt.Errorf("%w; nothing was changed", ours), ours.Error() + "; nothing was changed", ""},
		{
			"completed", remedy.Place{Stack: "--stack home"}.CompleteError(remedy.Errorf("run `em-infra up`", "it is not made by `em-infra up`")),
			"it is not made by `em-infra up --stack home`", "run `em-infra up --stack home`",
		},
		{"extended", remedy.Extend(ours, "; nothing was changed"), "the folder /state cannot be used (permission denied)", "mount it: see its log; nothing was changed"},
		{"without a remedy, extended", remedy.Extend(fs.ErrPermission, " on /state"), "permission denied on /state", ""},
		{"of others", errors.New("dial tcp: connection refused"), "dial tcp: connection refused", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			what, do := remedy.Split(test.err)
			require.Equal(t, test.what, what)
			require.Equal(t, test.do, do)
			if do != "" {
				require.EqualError(t, test.err, what+": "+do)
			}
		})
	}
}
