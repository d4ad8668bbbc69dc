package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

func TestWhatTheCLIReports(t *testing.T) {
	t.Parallel()
	quoted := func(stderr string) error {
		return errors.New("failed to select stack: exit status 255\ncode: 255\nstdout: \nstderr: " + stderr + "\n")
	}
	require.NoError(t, engine.Reported(nil))
	require.ErrorIs(t, engine.Reported(quoted("error: get stack secrets manager: incorrect passphrase")), engine.ErrPassphrase)

	reported := engine.Reported(quoted("warning: old\nerror: could not open the bucket\nerror: another"))
	var cli *engine.CLIError
	require.ErrorAs(t, reported, &cli)
	require.Equal(t, "could not open the bucket", cli.Sentence)
	require.EqualError(t, reported, "pulumi says: could not open the bucket")

	for _, other := range []error{errors.New("incorrect passphrase"), errors.New("error: x"), quoted("panic")} {
		require.Equal(t, other, engine.Reported(other))
	}
}
