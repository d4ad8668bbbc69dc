package nodeops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestTheReleaseOfAnInstallerImage: a patch may name an image that does not come from an Image Factory, or a copy whose name does not contain the
// schematic.
func TestTheReleaseOfAnInstallerImage(t *testing.T) {
	t.Parallel()
	const schematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
	for image, want := range map[string]nodeops.Release{
		"factory.talos.dev/nocloud-installer/" + schematic + ":v1.12.4":            {Version: "v1.12.4", Schematic: schematic},
		"factory.talos.dev/nocloud-installer-secureboot/" + schematic + ":v1.12.4": {Version: "v1.12.4", Schematic: schematic},
		"factory.talos.dev/installer/" + schematic + ":v1.12.4":                    {Version: "v1.12.4", Schematic: schematic},
		"ghcr.io/siderolabs/installer:v1.12.4":                                     {Version: "v1.12.4"},
		"registry.example.org:5000/own/installer:v1.12.4@sha256:" + schematic:      {Version: "v1.12.4"},
	} {
		release, err := nodeops.ReleaseOf(image)
		require.NoError(t, err, image)
		require.Equal(t, want, release, image)
	}
	_, err := nodeops.ReleaseOf("registry.example.org/installer@sha256:" + schematic)
	require.EqualError(t, err, `"registry.example.org/installer@sha256:`+schematic+`" is no installer image with a release of Talos: give one like factory.talos.dev/nocloud-installer/SCHEMATIC:v1.12.4`)
}

// TestWhetherANodeRunsWhatIsWanted: if the name of the wanted image contains no schematic, only the version is compared.
func TestWhetherANodeRunsWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		runs, wanted nodeops.Release
		want         bool
	}{
		{nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, true},
		{nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, nodeops.Release{Version: "v1.12.4", Schematic: "bb"}, false},
		{nodeops.Release{Version: "v1.12.4"}, nodeops.Release{Version: "v1.12.4", Schematic: "bb"}, false},
		{nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, nodeops.Release{Version: "v1.12.4"}, true},
		{nodeops.Release{Version: "v1.12.4"}, nodeops.Release{Version: "v1.12.4"}, true},
		{nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, nodeops.Release{Version: "v1.12.5"}, false},
		{nodeops.Release{Version: "v1.12.4", Schematic: "aa"}, nodeops.Release{Version: "v1.12.5", Schematic: "aa"}, false},
	} {
		require.Equal(t, test.want, test.runs.Satisfies(test.wanted), "%s for %s", test.runs, test.wanted)
	}
}
