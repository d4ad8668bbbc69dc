package nodeops_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const server = "https://192.168.20.10:6443"

// TestAnEndpointThatLeadsNowhere checks that a stale virtual address is reported after three minutes, if the control planes
// answer, and not after the whole wait of fifteen minutes.
func TestAnEndpointThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	const astray = "a control plane's Kubernetes API answers, and for 3 min not at " + server + " (it does not answer): " +
		"see that kubernetes.endpoint leads to the control planes: a virtual address lies in their subnet and is no other machine's, " +
		"a name or a load balancer points to them; then run up again"
	for _, test := range []struct {
		name     string
		look     func(since time.Duration) error
		ends     time.Duration
		want     string
		messages []string
	}{
		{
			"the control planes answer", func(time.Duration) error { return nodeops.Astray(server) }, 3 * time.Minute, astray,
			[]string{"no answer at " + server + ", where clients look (15 min at most)"},
		},
		{
			"they answer after a while", func(since time.Duration) error {
				if since < 5*time.Minute {
					return errors.New("no answer")
				}
				return nodeops.Astray(server)
			}, 8 * time.Minute, astray,
			[]string{"the Kubernetes API does not answer yet (15 min at most)", "no answer at " + server + ", where clients look (15 min at most)"},
		},
		{
			"it takes two minutes", func(since time.Duration) error {
				switch {
				case since < 2*time.Minute:
					return nodeops.Astray(server)
				case since < 10*time.Minute:
					return nodeops.NotReady("control-1", "worker-1")
				default:
					return nil
				}
			}, 10 * time.Minute, "",
			[]string{"no answer at " + server + ", where clients look (15 min at most)", "not Ready: control-1, worker-1 (15 min at most)"},
		},
		{
			"nobody answers", func(time.Duration) error { return errors.New("no answer") }, 15 * time.Minute,
			"the Kubernetes API does not answer (no answer): look at the control planes with `talosctl health`, then run up again; it goes on from here",
			[]string{"the Kubernetes API does not answer yet (15 min at most)"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
				defer cancel()
				var messages []string
				awaited := nodeops.Awaited{Server: server, Limit: 15 * time.Minute, Say: func(text string) { messages = append(messages, text) }}
				err := nodeops.WaitFor(ctx, awaited, func(context.Context) error { return test.look(time.Since(began)) })
				if test.want == "" {
					require.NoError(t, err)
				} else {
					require.EqualError(t, err, test.want)
				}
				polltest.Lasted(t, test.ends, began)
				require.Equal(t, test.messages, messages)
			})
		})
	}
}
