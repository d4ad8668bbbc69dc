package main

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
)

// TestAPreviewOfTargetsIsThatOfAllWithoutTheOthers holds what a preview of targets counts, since the engine itself refuses
// targets that are yet to be made while it reads the host.
func TestAPreviewOfTargetsIsThatOfAllWithoutTheOthers(t *testing.T) {
	t.Parallel()
	step := func(urn string, op apitype.OpType) apitype.EngineEvent {
		return apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: apitype.StepEventMetadata{URN: urn, Op: op}}}
	}
	said := apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Message: "a warning"}}
	seen := []apitype.EngineEvent{step("new", apitype.OpCreate), said, step("other", apitype.OpUpdate), step("old", apitype.OpSame)}
	all := map[apitype.OpType]int{apitype.OpCreate: 1, apitype.OpUpdate: 1, apitype.OpSame: 1}

	kept, counted := among([]string{"new", "old"}, seen, all)
	require.Equal(t, []apitype.EngineEvent{seen[0], said, seen[3]}, kept)
	require.Equal(t, map[apitype.OpType]int{apitype.OpCreate: 1, apitype.OpSame: 1}, counted)

	kept, counted = among(nil, seen, all)
	require.Equal(t, seen, kept)
	require.Equal(t, all, counted)
}
