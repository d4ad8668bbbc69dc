package stacks_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/blang/semver"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/stacks"
)

// emptyBackend is a CLI that knows no stack, and records how one is created.
type emptyBackend struct{ created []string }

func (r *emptyBackend) Version() semver.Version { return semver.MustParse("3.254.0") }

func (r *emptyBackend) Run(_ context.Context, _ string, _ io.Reader, _, _ []io.Writer, _ []string, args ...string) (stdout, stderr string, code int, err error) {
	if args[1] == "select" {
		return "", "error: no stack named 'k3s-dev' found", 255, errors.New("exit status 255")
	}
	r.created = args
	return "", "", 0, nil
}

// TestANewStackHasTheSecretsProviderOfItsFile: without it the CLI asks for a passphrase, although the file names a key service.
func TestANewStackHasTheSecretsProviderOfItsFile(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string][]string{
		"":                     {"stack", "init", "k3s-dev"},
		"hashivault://k3s-dev": {"stack", "init", "k3s-dev", "--secrets-provider", "hashivault://k3s-dev"},
	} {
		cli := &emptyBackend{}
		_, err := stacks.Upsert(t.Context(), stacks.Embedding{Stack: "k3s-dev", WorkDir: t.TempDir(), Command: cli, SecretsProvider: provider})
		require.NoError(t, err)
		require.Equal(t, want, cli.created)
	}
}
