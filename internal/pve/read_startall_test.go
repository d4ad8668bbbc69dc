package pve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestStartingHosts: a host that has ended its task, one that works on another and one that is away are none.
func TestStartingHosts(t *testing.T) {
	t.Parallel()
	tasks := map[string]string{
		"one":   `[{"type":"startall","starttime":5}]`,
		"two":   `[{"type":"startall","starttime":5,"endtime":9}]`,
		"three": `[{"type":"qmstart","starttime":5}]`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := `[{"node":"one","status":"online"},{"node":"two","status":"online"},{"node":"three","status":"online"},{"node":"four","status":"offline"}]`
		for node, text := range tasks {
			if r.URL.Path == "/api2/json/nodes/"+node+"/tasks" && r.URL.Query().Get("source") == "active" {
				answer = text
			}
		}
		_, _ = fmt.Fprintf(w, `{"data":%s}`, answer)
	}))
	t.Cleanup(server.Close)
	reader, err := pve.NewReader(tokenAt(server))
	require.NoError(t, err)
	hosts, err := reader.StartingHosts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, hosts)

	away := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api2/json/nodes" {
			_, _ = fmt.Fprint(w, `{"data":[{"node":"one","status":"online"}]}`)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(away.Close)
	reader, err = pve.NewReader(tokenAt(away))
	require.NoError(t, err)
	_, err = reader.StartingHosts(t.Context())
	require.EqualError(t, err, "the tasks of one cannot be read (Internal Server Error): see that the host answers, then run again")
}
