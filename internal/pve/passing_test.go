package pve_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
)

// TestAReadThatWasNotPassedOnIsRepeatedOnce, and nothing else is.
func TestAReadThatWasNotPassedOnIsRepeatedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		status  int
		times   int32 // how often it is given
		asked   int32
		problem string
	}{
		{"no connection", 595, 1, 2, ""},
		{"no answer", 596, 1, 2, ""},
		{"half an answer", 597, 1, 2, ""},
		{"the host stays away", 596, 9, 2, "596 status code 596"},
		{"the host itself refuses", http.StatusInternalServerError, 1, 1, "Internal Server Error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) <= test.times {
					w.WriteHeader(test.status)
					return
				}
				_, _ = w.Write([]byte(`{"data":[]}`))
			}))
			t.Cleanup(server.Close)
			reader, err := pve.NewReader(tokenAt(server))
			require.NoError(t, err)
			_, err = reader.Bridges(t.Context(), node)
			if test.problem == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, test.problem)
			}
			require.Equal(t, test.asked, asked.Load())
		})
	}
}
