package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without a stack nothing is asked, and no stack is needed.
func TestSupportedVersions(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		var out bytes.Buffer
		command := newRootCommand()
		command.SetArgs(append([]string{"versions"}, args...))
		command.SetOut(&out)
		require.NoError(t, command.ExecuteContext(t.Context()))
		return out.String()
	}
	require.Contains(t, run(), "TALOS  LATEST    KUBERNETES      DEFAULT\nv1.14  v1.14.1   v1.32 to v1.37  v1.37.0\nv1.13  v1.13.9   v1.31 to v1.36  v1.36.3\n")
	text := run("--output", "json")
	require.NoError(t, undocumented([]string{"versions", "--output", "json"}, text))
	require.Contains(t, text, `"talos": "v1.13",
      "latest": "v1.13.9",
      "kubernetes": {
        "first": "v1.31",
        "last": "v1.36"
      },
      "defaultKubernetes": "v1.36.3"`)
}
