// Package s3test runs an S3 server for tests: tests/s3, which is a module of its own.
package s3test

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/repositorytest"
)

// Start runs a server with an empty bucket until the test ends, and returns the URL of the bucket, states. Any key opens it.
func Start(t *testing.T) string {
	t.Helper()
	require.NoError(t, repositorytest.DependOn("tests/s3"))
	module, err := repositorytest.Path("tests/s3")
	require.NoError(t, err)
	server := exec.Command("go", "run", "-trimpath", ".") // Go keeps the program in its cache, linked
	server.Dir, server.Stderr = module, os.Stderr
	server.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	stdin, err := server.StdinPipe() // the server ends when its input ends, so it does not outlive a killed test
	require.NoError(t, err)
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, server.Wait())
	})
	line := bufio.NewScanner(stdout)
	require.True(t, line.Scan(), "the server prints its address, or ends: %v", line.Err())
	return "s3://states?endpoint=http://" + line.Text() + "&use_path_style=true&region=us-east-1&disable_https=true"
}
