package systems_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/systems"
)

// TestAnotherTemplateIsAnotherFile: publishers give one name to many templates, and a host refuses another file of a name that it has.
func TestAnotherTemplateIsAnotherFile(t *testing.T) {
	t.Parallel()
	template := func(name, address, digits string) systems.ContainerTemplate {
		parsed, err := url.Parse(address)
		require.NoError(t, err)
		made := systems.ContainerTemplate{Name: name}
		made.URL, made.Checksum = systems.URL{URL: *parsed}, systems.Checksum("sha256:"+strings.Repeat(digits, 32))
		return made
	}
	const debian, alpine = "https://images.example/debian/trixie/amd64/default/20251117_05:24/rootfs.tar.xz", "https://images.example/alpine/rootfs.tar.xz"
	require.Equal(t, "debian-abababababababab.tar.xz", template("debian", debian, "ab").File())
	require.Equal(t, "alpine-cdcdcdcdcdcdcdcd.tar.xz", template("alpine", alpine, "cd").File())
	require.Equal(t, "debian-efefefefefefefef.tar.xz", template("debian", debian, "ef").File(), "a new build under the name")
}
