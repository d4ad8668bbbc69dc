package hostname_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/hostname"
)

func TestIsHost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"192.168.20.10": true, "fd00::10": true, "vmhost": true, "nas.home.example": true,
		"": false, "192.168.20": false, "192.168.20.300": false, "fe80::1%eth0": false, "under_score": false, "two words": false, "$(id)": false,
	} {
		require.Equal(t, want, hostname.IsHost(text), text)
	}
}
