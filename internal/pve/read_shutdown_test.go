package pve_test

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

func TestAMachineIsAwaitedWhileItsTaskGoesOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, tasks string
		code        int
		awaited     bool
		problem     string
	}{
		{"the task goes on", `{"data":[{"type":"qmreboot","id":"101","starttime":5,"status":"RUNNING"}]}`, http.StatusOK, true, ""},
		{"it is to stay off", `{"data":[{"type":"qmstart","id":"101"},{"type":"qmshutdown","id":"101","starttime":5}]}`, http.StatusOK, true, ""},
		{"another one goes on", `{"data":[{"type":"qmstart","id":"101","starttime":5}]}`, http.StatusOK, false, ""},
		{"it has just ended", `{"data":[{"type":"qmreboot","id":"101","starttime":5,"endtime":9,"status":"OK"}]}`, http.StatusOK, false, ""},
		{"there is none", `{"data":[]}`, http.StatusOK, false, ""},
		{"the host is away", "", 596, false, "host vmhost does not tell the tasks of VM 101: 596 status code 596"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan url.Values, 2) // a host that is away is asked twice
			mux := http.NewServeMux()
			mux.HandleFunc("/api2/json/cluster/resources", func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(`{"data":[{"vmid":101,"type":"qemu","node":"vmhost"}]}`)) // to a client that has gone
			})
			mux.HandleFunc("/api2/json/nodes/vmhost/tasks", func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Query()
				w.WriteHeader(test.code)
				_, _ = w.Write([]byte(test.tasks)) // the same
			})
			server := httptest.NewTLSServer(mux)
			t.Cleanup(server.Close)
			reader, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: tokenID + "=" + rand.Text(), Insecure: true})
			require.NoError(t, err)

			awaited, err := reader.AwaitsShutdown(t.Context(), 101)
			require.Equal(t, test.awaited, awaited)
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.problem)
			}
			require.Equal(t, url.Values{"source": {"active"}, "vmid": {"101"}}, <-asked)
		})
	}
}
