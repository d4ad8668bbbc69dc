package proxmox_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResolver: a write replaces all servers, and one that is given twice is written once.
func TestResolver(t *testing.T) {
	t.Parallel()
	l := administrator(t)
	read := func() map[string]string {
		settings := map[string]string{}
		l.ok(http.MethodGet, "/nodes/vmhost/dns", nil, &settings)
		return settings
	}
	require.Equal(t, map[string]string{"search": "home.example", "dns1": "192.168.20.1"}, read(), "as the installer leaves it")
	l.ok(http.MethodPut, "/nodes/vmhost/dns", values("search=lan dns1=10.0.0.1 dns2=10.0.0.2 dns3=10.0.0.1"), nil)
	require.Equal(t, map[string]string{"search": "lan", "dns1": "10.0.0.1", "dns2": "10.0.0.2"}, read())
	l.ok(http.MethodPut, "/nodes/vmhost/dns", values("search=lan dns1=fd00::1"), nil)
	require.Equal(t, map[string]string{"search": "lan", "dns1": "fd00::1"}, read())
}
