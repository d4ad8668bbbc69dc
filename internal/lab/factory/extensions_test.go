package factory_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/factory"
)

func TestExtensionsOfASchematic(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := httptest.NewServer(factory.New(factory.WithStore(dir)))
	defer server.Close()
	answer, err := http.Post(server.URL+"/schematics", "application/yaml", strings.NewReader(
		"customization: {systemExtensions: {officialExtensions: [siderolabs/nvidia-container-toolkit-lts, siderolabs/qemu-guest-agent]}}\n"))
	require.NoError(t, err)
	defer answer.Body.Close()
	var made struct{ ID string }
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&made))

	names, err := factory.ExtensionsOf(dir, made.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"nvidia-container-toolkit-lts", "qemu-guest-agent"}, names)
	names, err = factory.ExtensionsOf(dir, strings.Repeat("0", 64))
	require.NoError(t, err)
	require.Empty(t, names)
}
