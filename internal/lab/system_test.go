package lab_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
)

func TestALabNeedsLinux(t *testing.T) {
	t.Parallel()
	const rest = ": run the same command on Linux, for example in WSL 2 or in a container; runs without the lab work here"
	for system, want := range map[string]string{
		"windows": "the lab needs Linux, and this is Windows" + rest,
		"darwin":  "the lab needs Linux, and this is macOS" + rest,
		"freebsd": "the lab needs Linux, and this is freebsd" + rest,
	} {
		require.EqualError(t, lab.CheckSystem(system), want)
	}
	require.NoError(t, lab.CheckSystem("linux"))
}
