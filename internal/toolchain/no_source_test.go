package toolchain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// released are the modules that an installed em-infra links.
func released() map[string]string {
	return map[string]string{
		"github.com/pulumi/pulumi/sdk/v3":             "v3.254.0",
		"github.com/muhlba91/pulumi-proxmoxve/sdk/v6": "v6.18.1",
		"github.com/pulumiverse/pulumi-talos/sdk":     "v0.7.1",
		"github.com/pulumi/pulumi-command/sdk":        "v1.2.1",
		"github.com/pulumi/pulumi-kubernetes/sdk/v4":  "v4.30.0",
	}
}

// TestWithoutASource: an installed em-infra finds the versions of its tools in its own build information and uses official tools.
// For the tools that only a clone can build, the error says what to do. The test is not parallel, because it changes the working
// directory.
func TestWithoutASource(t *testing.T) {
	t.Chdir(t.TempDir())
	pulumi := script(t, "echo v3.254.0\n")
	for _, c := range []struct {
		name    string
		options toolchain.Options
		paths   map[string]string
		want    string
	}{
		{
			"no pulumi", toolchain.Options{}, nil,
			"pulumi v3.254.0 or a later minor release is not on PATH, and there is no clone of em-infra here to build it from: install it (https://www.pulumi.com/docs/install), or run this in a clone",
		},
		{
			"no plugin", toolchain.Options{}, map[string]string{"pulumi": pulumi},
			"the official plugin proxmoxve v6.18.1 cannot be had (api.github.com cannot be reached: no internet), and there is no clone of em-infra here to build it from: run this again with a connection to api.github.com, or in a clone",
		},
		{
			"a rehearsal", toolchain.Options{Rehearsal: true}, map[string]string{"pulumi": pulumi},
			"rehearsals need controlplane, which is not published anywhere, and there is no clone of em-infra here to build it from: run rehearsals in a clone, or once `em-infra tools install --lab` there, which keeps it for all folders",
		},
		{
			"a language host", toolchain.Options{LanguageHost: true}, map[string]string{"pulumi": pulumi},
			"pulumi-language-go is not on PATH, and there is no clone of em-infra here to build it from: install Pulumi (https://www.pulumi.com/docs/install), which has it, or run this in a clone",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.options.CacheDir = t.TempDir()
			_, err := toolchain.Install(t.Context(), c.options.With(toolchain.Seams{
				LookPath: found(c.paths), Linked: released, Probe: func(context.Context, string) error { return errors.New("no internet") },
			}))
			require.ErrorIs(t, err, toolchain.ErrNoBuild)
			require.EqualError(t, err, c.want)
		})
	}
}

// TestBuildsOfACloneAreUsed: the builds of a clone on this machine are used in any folder if the version is the same. The test is
// not parallel, because it changes the working directory.
func TestBuildsOfACloneAreUsed(t *testing.T) {
	clone := checkout(t)
	clone.Rehearsal = true
	built := install(t, clone)
	t.Chdir(t.TempDir())

	killed := filepath.Join(clone.CacheDir, "tools", "talos", "v0.7.1-000000000000.partial")
	require.NoError(t, os.MkdirAll(killed, 0o700))
	machine := toolchain.Seams{LookPath: found(nil), Linked: released}
	elsewhere := toolchain.Options{CacheDir: clone.CacheDir, Rehearsal: true}.With(machine)
	listed, err := toolchain.List(t.Context(), elsewhere)
	require.NoError(t, err)
	require.Equal(t, built.Tools, listed)
	require.Equal(t, built, install(t, elsewhere))

	machine.Linked = func() map[string]string {
		versions := released()
		versions["github.com/pulumiverse/pulumi-talos/sdk"] = "v0.7.2"
		return versions
	}
	listed, err = toolchain.List(t.Context(), elsewhere.With(machine))
	require.NoError(t, err)
	for _, one := range listed {
		require.Equal(t, one.Name != "talos", one.Installed, one.Name)
	}
}
