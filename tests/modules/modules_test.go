// Package modules_test runs the tests of the modules under tools/, which the root module's own run does not reach, and
// holds the form of all Go files.
package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestTools runs the tests of the plugins and stand-ins, with the flags of their build, so that what the tool chain has
// compiled is not compiled again.
func TestTools(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the plugins")
	}
	test := exec.Command("go", "test", "-trimpath", "./...")
	test.Dir = filepath.Join(root, "tools")
	test.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly")
	output, err := test.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

// TestFormat: gofmt has nothing to change in what is under version control.
func TestFormat(t *testing.T) {
	t.Parallel()
	list := exec.Command("git", "ls-files", "*.go")
	list.Dir = root
	files, err := list.Output()
	if err != nil {
		t.Skip("this is no git checkout")
	}
	format := exec.Command("gofmt", append([]string{"-l"}, strings.Fields(string(files))...)...)
	format.Dir = root
	changed, err := format.Output()
	require.NoError(t, err)
	require.Empty(t, string(changed), "run gofmt -w on these")
}
