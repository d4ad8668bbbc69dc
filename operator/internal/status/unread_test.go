package status_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

const itMayBeStarting = "              → it may be starting: run `em-infra status` again in a minute, and look at its console if it stays away\n"

// TestWhatToDoAboutWhatWasNotRead: only what is silent may be starting.
func TestWhatToDoAboutWhatWasNotRead(t *testing.T) {
	t.Parallel()
	const mayNotRead = "              → `em-infra role` prints what the token lacks\n"
	silent := fmt.Errorf("etcd: %w", nodeops.ErrSilent)
	refused := fmt.Errorf("Kubernetes API at https://192.168.20.10:6443: %w", &net.OpError{Op: "dial", Err: errors.New("connection refused")}) //nolint:staticcheck // as it is printed
	for _, test := range []struct {
		name    string
		reasons []error
		want    string
	}{
		{"a token that may not", []error{fmt.Errorf("virtual machines: %w", pve.ErrForbidden)}, "not read      virtual machines: the token may not read it\n" + mayNotRead},
		{"an answer", []error{errors.New("Kubernetes API at https://192.168.20.10:6443: Unauthorized")}, "not read      Kubernetes API at https://192.168.20.10:6443: Unauthorized\n"},
		{"nothing", nil, ""},
		{"silence of two", []error{silent, nil, refused}, "not read      etcd: its Talos API does not answer\n" +
			"not read      Kubernetes API at https://192.168.20.10:6443: dial: connection refused\n" + itMayBeStarting},
		{"several that are silent", []error{fmt.Errorf("etcd: %w", errors.Join(fmt.Errorf("cp-1: %w", nodeops.ErrSilent), fmt.Errorf("cp-2: %w", nodeops.ErrSilent)))}, "not read      etcd: cp-1: its Talos API does not answer; cp-2: its Talos API does not answer\n" + itMayBeStarting},
		{"one of several that is silent", []error{fmt.Errorf("etcd: %w", errors.Join(fmt.Errorf("cp-1: %w", nodeops.ErrSilent), fmt.Errorf("cp-2: %w", nodeops.ErrForeign)))}, "not read      etcd: cp-1: its Talos API does not answer; cp-2: its Talos API is not this cluster's: the node belongs to another, or has no configuration\n"},
		{"each its own", []error{silent, pve.ErrForbidden}, "not read      etcd: its Talos API does not answer\n" + itMayBeStarting + "not read      the token may not read it\n" + mayNotRead},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			require.NoError(t, wellReport().WithUnread(test.reasons...).WriteText(&text))
			_, after, _ := strings.Cut(text.String(), "22:15:00\n")
			require.Equal(t, test.want, after)
		})
	}
}

// TestWhatAHostAnswers: a host that cannot be reached, or reports that of another, is silent; one that refuses is not.
func TestWhatAHostAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code int
		says string
	}{
		"another host cannot be reached": {595, itMayBeStarting},
		"the token may not":              {http.StatusForbidden, "              → `em-infra role` prints what the token lacks\n"},
		"it fails":                       {http.StatusInternalServerError, ""},
		"nothing listens":                {0, itMayBeStarting},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(test.code) }))
			t.Cleanup(server.Close)
			if test.code == 0 {
				server.Close()
			}
			host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "em-infra@pve!t=secret", Insecure: true})
			require.NoError(t, err)
			var text strings.Builder
			require.NoError(t, status.Sources{}.OfState(time.Now()).AskForHosts(t.Context(), host, []string{"pve1"}).WriteText(&text))
			_, after, _ := strings.Cut(text.String(), "not read      the hosts: ")
			_, after, _ = strings.Cut(after, "\n")
			require.Equal(t, test.says, after)
		})
	}
}
