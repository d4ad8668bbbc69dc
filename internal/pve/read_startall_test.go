package pve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestStartingHosts checks that a host that has ended its task and a host that works on another task are not returned, and that other hosts are not
// asked.
func TestStartingHosts(t *testing.T) {
	t.Parallel()
	tasks := map[string]string{
		"one":   `[{"type":"startall","starttime":5}]`,
		"two":   `[{"type":"startall","starttime":5,"endtime":9}]`,
		"three": `[{"type":"qmstart","starttime":5}]`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for node, text := range tasks {
			if r.URL.Path == "/api2/json/nodes/"+node+"/tasks" && r.URL.Query().Get("source") == "active" {
				_, _ = fmt.Fprintf(w, `{"data":%s}`, text)
				return
			}
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	reader, err := pve.NewReader(tokenAt(server))
	require.NoError(t, err)
	hosts, err := reader.StartingHosts(t.Context(), []string{"one", "two", "three"})
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, hosts)

	hosts, err = reader.StartingHosts(t.Context(), []string{"one", "away"})
	require.EqualError(t, err, "the tasks of away cannot be read (Internal Server Error)")
	require.Equal(t, []string{"one"}, hosts, "what was found before")
}
