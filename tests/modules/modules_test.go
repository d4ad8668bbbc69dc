// Package modules_test runs the tests of the modules under tools/ and tests/, which the root module's own run does not
// reach, and holds the form of all Go files.
package modules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/repositorytest"
	"github.com/em-infra/em-infra/internal/toolchain"
)

const root = "../.."

// TestTools runs the tests of the plugins and stand-ins.
func TestTools(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the plugins")
	}
	testModule(t, "tools")
}

// TestStandInForTheLanguageHost runs programs with it as the engine does.
func TestStandInForTheLanguageHost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the stand-in")
	}
	testModule(t, "tools/standin/language")
}

// TestProvidersClient drives the lab with the provider's own client.
func TestProvidersClient(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the provider's client")
	}
	testModule(t, "tests/provider")
}

// TestStandInForKubernetes runs it against a real API server and by a real engine, which come from the tool chain.
func TestStandInForKubernetes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compiles the stand-in, and the tools that its tests need")
	}
	installed, err := toolchain.Install(t.Context(), toolchain.Options{
		Names: []string{"pulumi", "controlplane"}, Progress: os.Stderr,
	})
	require.NoError(t, err)
	testModule(t, "tools/standin/kubernetes",
		"EM_INFRA_TEST_PULUMI="+installed.Tools[0].Root(), "EM_INFRA_TEST_CONTROLPLANE="+installed.Tools[1].Path)
}

// testModule runs a module's tests with the flags of its build, so that what the tool chain has compiled is not compiled
// again.
func testModule(t *testing.T, module string, environ ...string) {
	t.Helper()
	require.NoError(t, repositorytest.DependOnSources())
	test := exec.Command("go", "test", "-trimpath", "-timeout", "60m", "./...")
	test.Dir = filepath.Join(root, module)
	test.Env = slices.Concat(os.Environ(), []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly"}, environ)
	output, err := test.CombinedOutput()
	require.NoError(t, err, "%s", output)
	t.Logf("%s", output)
}

// TestFormat: gofmt has nothing to change in what is under version control.
func TestFormat(t *testing.T) {
	t.Parallel()
	require.NoError(t, repositorytest.DependOnSources())
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
