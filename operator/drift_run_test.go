package operator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/drift"
	"github.com/em-infra/em-infra/operator/internal/refusal"
)

// TestADriftGoesOnWithoutTheHost: the nodes are compared and reported even if the host, or a part of it, does not answer.
func TestADriftGoesOnWithoutTheHost(t *testing.T) {
	t.Parallel()
	onHost := drift.Difference{Subject: "pool", Property: "existence", Want: "there", Have: "absent"}
	onNode := drift.Difference{Subject: "k3s-dev-cp-1", Property: "Talos", Want: "v1.12.4", Have: "v1.12.3"}
	away := errors.New("preview failed\nread the ISOs of pve2: 595 no route to host")
	for _, test := range []struct {
		name        string
		reach, host error
		nodes       error
		report      drift.Report
		err         string
	}{
		{name: "all is read", report: drift.Report{Host: []drift.Difference{onHost}, Nodes: []drift.Difference{onNode}, Unread: []string{}}},
		{
			name: "no host answers", reach: errors.New("the host does not answer"),
			report: drift.Report{Host: []drift.Difference{}, Nodes: []drift.Difference{onNode}, Unread: []string{"the host does not answer"}},
		},
		{
			name: "one of several hosts is off", host: away,
			report: drift.Report{
				Host: []drift.Difference{onHost}, Nodes: []drift.Difference{onNode},
				Unread: []string{"not all of the host was compared: preview failed; read the ISOs of pve2: 595 no route to host"},
			},
		},
		{name: "a refusal", host: refusal.Of(errors.New("choose a stack")), err: "choose a stack"},
		{name: "a state that cannot be read", nodes: errors.New("the state is torn"), err: "the state is torn"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			report, err := operator.DriftRun{
				Reach: func(context.Context) error { return test.reach },
				Host: func(_ context.Context, report *drift.Report) error {
					report.Host = append(report.Host, onHost)
					return test.host
				},
				Nodes: func(_ context.Context, report *drift.Report) error {
					report.Nodes = append(report.Nodes, onNode)
					return test.nodes
				},
				Place: remedy.Place{Stack: "k3s-dev"},
			}.Run(t.Context())
			if test.err != "" {
				require.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.report, report)
		})
	}
}

// TestAnInterruptedDriftIsNoReport: what was not read because the user interrupted the run is not a finding about the host.
func TestAnInterruptedDriftIsNoReport(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	_, err := operator.DriftRun{
		Reach: func(context.Context) error { return nil },
		Host: func(context.Context, *drift.Report) error {
			end()
			return ctx.Err()
		},
	}.Run(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
