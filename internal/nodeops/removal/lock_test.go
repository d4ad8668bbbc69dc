package removal_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/em-infra/em-infra/internal/nodeops/removal"
)

// leases is the part of an API server that holds one Lease. It does not answer from the time silent on, and accepts no Lease if refuses is set.
type leases struct {
	lease   []byte
	silent  time.Time
	refuses bool
}

// RoundTrip implements [http.RoundTripper]. The elector sends one request at a time.
func (l *leases) RoundTrip(r *http.Request) (*http.Response, error) {
	if !time.Now().Before(l.silent) {
		return nil, errors.New("no route to host")
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodGet && l.refuses:
		answer.WriteHeader(http.StatusInternalServerError)
		_, _ = answer.WriteString(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"failed calling webhook \"validate.kyverno.svc\": no endpoints available"}`)
		return answer.Result(), nil
	case r.Method != http.MethodGet:
		l.lease, _ = io.ReadAll(r.Body)
	case l.lease == nil:
		answer.WriteHeader(http.StatusNotFound)
	}
	_, _ = answer.Write(l.lease)
	return answer.Result(), nil
}

// TestALeaseThatCannotBeTakenIsNotTriedForEver: the elector itself would try forever and report nothing.
func TestALeaseThatCannotBeTakenIsNotTriedForEver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		server leases
		reason string
	}{
		{"a webhook refuses it", leases{silent: time.Now().AddDate(1000, 0, 0), refuses: true}, `failed calling webhook "validate.kyverno.svc": no endpoints available`},
		{"the API server is silent", leases{}, `Get "https://192.168.20.12:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/em-infra-control-planes": no route to host`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				err := removal.Alone(t.Context(), "cp-1", clientOf(t, &test.server), func(context.Context) error { return errors.New("it was taken") })
				require.EqualError(t, err, "cp-1 is untouched, because the Lease em-infra-control-planes in kube-system cannot be taken, by which one control plane "+
					"is removed at a time ("+test.reason+"): mend that, then run `em-infra up` again")
				require.Less(t, time.Since(begun), 11*time.Minute)
			})
		})
	}
}

func clientOf(t *testing.T, server http.RoundTripper) *kubernetes.Clientset {
	t.Helper()
	api, err := kubernetes.NewForConfigAndClient(&rest.Config{
		Host: "https://192.168.20.12:6443", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	}, &http.Client{Transport: server})
	require.NoError(t, err)
	return api
}

// TestHowWorkEndsWithTheLease checks the error of each end. A lost Lease ends the work, whose own error does not mention the Lease.
func TestHowWorkEndsWithTheLease(t *testing.T) {
	t.Parallel()
	until := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for _, test := range []struct {
		name   string
		silent time.Duration
		work   func(context.Context) error
		want   string
	}{
		{"it is done", time.Hour, func(context.Context) error { return nil }, ""},
		{"it fails", time.Hour, func(context.Context) error { return errors.New("no") }, "no"},
		{"the run is ended", time.Hour, until, "context canceled"},
		{"the API server falls silent", 20 * time.Minute, until, "the removal of cp-1 has ended, because the Lease em-infra-control-planes was lost " +
			"(the API server at 192.168.20.12:6443 did not answer for 40 s): see `em-infra status`, mend that, then run `em-infra up` again; it goes on from here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &leases{silent: time.Now().Add(test.silent)}
				ctx, end := context.WithCancel(t.Context())
				time.AfterFunc(30*time.Minute, end)
				err := removal.Alone(ctx, "cp-1", clientOf(t, server), test.work)
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}
