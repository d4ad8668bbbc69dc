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

// leases is the part of an API server that holds one Lease. It answers nothing from a time on.
type leases struct {
	lease  []byte
	silent time.Time
}

// RoundTrip implements [http.RoundTripper]. The elector sends one request at a time.
func (l *leases) RoundTrip(r *http.Request) (*http.Response, error) {
	if !time.Now().Before(l.silent) {
		return nil, errors.New("no route to host")
	}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodGet:
		l.lease, _ = io.ReadAll(r.Body)
	case l.lease == nil:
		answer.WriteHeader(http.StatusNotFound)
	}
	_, _ = answer.Write(l.lease)
	return answer.Result(), nil
}

// TestHowWorkEndsWithTheLease: one that is lost ends the work with an error that says nothing of it.
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
				api, err := kubernetes.NewForConfigAndClient(&rest.Config{
					Host: "https://192.168.20.12:6443", QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
				}, &http.Client{Transport: server})
				require.NoError(t, err)
				ctx, end := context.WithCancel(t.Context())
				time.AfterFunc(30*time.Minute, end)
				err = removal.Alone(ctx, "cp-1", api, test.work)
				if test.want == "" {
					require.NoError(t, err)
					return
				}
				require.EqualError(t, err, test.want)
			})
		})
	}
}
