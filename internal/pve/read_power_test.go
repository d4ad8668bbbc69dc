package pve_test

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestWhetherAMachineRunsIsItsHostsWord checks that a machine that cannot be seen never counts as off.
func TestWhetherAMachineRunsIsItsHostsWord(t *testing.T) {
	t.Parallel()
	const list = `{"data":[{"vmid":101,"type":"qemu","node":"vmhost","status":"stopped"},{"vmid":102,"type":"lxc","node":"vmhost","status":"stopped"}]}`
	for _, test := range []struct {
		name          string
		list, current string
		code          int
		vmid          int
		runs          bool
		problem       string
	}{
		{"it runs, and the list does not know yet", list, `{"data":{"status":"running"}}`, http.StatusOK, 101, true, ""},
		{"it is off", list, `{"data":{"status":"stopped"}}`, http.StatusOK, 101, false, ""},
		{"its host is away", list, "", 596, 101, false, "host vmhost does not say how VM 101 is: 596 status code 596"},
		{"a container has its number", list, "", http.StatusOK, 102, false, "proxmox VE shows the token no VM 102"},
		{"the token sees nothing", `{"data":[]}`, "", http.StatusOK, 101, false, "proxmox VE shows the token no VM 101"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			answer := func(code int, body string) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(code)
					_, _ = w.Write([]byte(body)) // to a client that has gone
				}
			}
			mux.HandleFunc("/api2/json/cluster/resources", answer(http.StatusOK, test.list))
			mux.HandleFunc("/api2/json/nodes/vmhost/qemu/101/status/current", answer(test.code, test.current))
			server := httptest.NewTLSServer(mux)
			t.Cleanup(server.Close)
			reader, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: tokenID + "=" + rand.Text(), Insecure: true})
			require.NoError(t, err)

			runs, err := reader.IsRunning(t.Context(), test.vmid)
			require.Equal(t, test.runs, runs)
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.problem)
			}
		})
	}
}
