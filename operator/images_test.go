package operator_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestAnUpgradeIsSaidOnce: the line of an assessment says more than that of the image.
func TestAnUpgradeIsSaidOnce(t *testing.T) {
	t.Parallel()
	images := operator.OtherImages{Other: []status.OtherImage{{Node: "cp-1", Talos: "v1.12.4"}, {Node: "w-1", Talos: "v1.12.4"}}, Unread: []string{"w-2: it does not answer"}}
	assessment := operator.Assessment{Findings: []operator.Finding{{Kind: risk.Upgrade, Subject: "cp-1"}, {Kind: risk.Change, Subject: "w-1"}}}
	var text strings.Builder
	images.Besides(assessment).WriteText(&text)
	require.NotContains(t, text.String(), "cp-1")
	require.Contains(t, text.String(), "w-1 runs ")
	require.Contains(t, text.String(), "w-2: it does not answer")
	require.Len(t, images.Other, 2, "the result itself has all of them")
}
