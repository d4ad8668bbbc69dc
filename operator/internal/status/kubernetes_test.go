package status_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/loopbacktest"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestASilentKubernetesAPIIsNamed: the error contains the address of the API.
func TestASilentKubernetesAPIIsNamed(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(silent.Close)
	closed := "http://" + loopbacktest.Refused(t)

	err := status.KubernetesAnswers(t.Context(), kubeconfigOf(silent.URL), time.Second)
	require.EqualError(t, err, "the Kubernetes API at "+silent.URL+" does not answer within 1s")

	err = status.KubernetesAnswers(t.Context(), kubeconfigOf(closed), time.Minute)
	require.ErrorContains(t, err, "the Kubernetes API at "+closed+" does not answer: Get ")

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, status.KubernetesAnswers(cancelled, kubeconfigOf(silent.URL), time.Minute), context.Canceled)
}

func TestAKubernetesAPIThatIsReadyAnswers(t *testing.T) {
	t.Parallel()
	ready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(ready.Close)
	require.NoError(t, status.KubernetesAnswers(t.Context(), kubeconfigOf(ready.URL), time.Minute))
	require.EqualError(t, status.KubernetesAnswers(t.Context(), []byte("}"), time.Minute),
		"the stack's output kubeconfig holds no client certificate: run `em-infra up` to have it written anew")
}

func kubeconfigOf(server string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: %s}}]
contexts: [{name: lab, context: {cluster: lab, user: lab}}]
current-context: lab
users: [{name: lab, user: {}}]
`, server)
}
