package operator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/span"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options operator.UpOptions
		span    span.Span
		command string
		err     string
	}{
		{operator.UpOptions{}, span.Span{Last: phase.Verify}, "up", ""},
		{operator.UpOptions{Until: phase.Provision}, span.Span{Last: phase.Provision}, "up-until-provision", ""},
		{operator.UpOptions{Only: phase.Addons}, span.Span{Last: phase.Addons, Only: true}, "up-only-addons", ""},
		{operator.UpOptions{Until: phase.Addons, Only: phase.Addons}, span.Span{}, "", "--until and --only exclude each other: give one of them"},
		{operator.UpOptions{Plan: "0123456789abcdef"}, span.Span{Last: phase.Verify, Plan: "0123456789abcdef"}, "up", ""},
		{operator.UpOptions{Plan: "0123456789abcdef", Until: phase.Addons}, span.Span{}, "", planOfAPart},
		{operator.UpOptions{Plan: "0123456789abcdef", Only: phase.Addons}, span.Span{}, "", planOfAPart},
		{operator.UpOptions{Plan: "0123456789abcdef", OnlyNode: "cp-1"}, span.Span{}, "", planOfAPart},
	} {
		chosen, err := test.options.Span()
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.span, chosen)
		require.Equal(t, test.command, chosen.Command())
	}
}

const planOfAPart = "--plan excludes --until, --only and --only-node, since a preview plans all phases of all nodes: leave them out"
