package review_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/review"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

const up = "em-infra up --stack k3s-dev --plan 0123456789abcdef"

func machine(name string) resource.URN {
	return resource.URN("urn:pulumi:k3s-dev::em-infra::proxmoxve:VM/virtualMachine:VirtualMachine::" + name)
}

func asItIs(text string) string { return text }

// refusedPlan has a change of each weight, and texts that Markdown would interpret.
var refusedPlan = review.Plan{
	Stack: "k3s-dev", Up: up, Hide: asItIs,
	Assessment: risk.Assessment{
		Findings: []risk.Finding{
			{Kind: risk.Reboot, Subject: "k3s-dev-control-1", What: []string{"memory 4096 → 8192 MiB", "a patch with <b>, a_b*c and | in it"}, Means: []string{"drained, and back in about 1 min"}},
			{Kind: risk.Replace, Subject: "k3s-dev-control-4", What: []string{"vmid 104 → 110"}, Means: []string{"its disks are deleted", "say `em-infra up --allow-replace k3s-dev-control-4`"}},
			{Kind: risk.Create, Subject: "k3s-dev-worker-9", What: []string{"a machine on vmhost"}},
		},
		Notes: []string{"2 nodes reboot"}, Unasked: []string{"k3s-dev-worker-2 does not answer"},
	},
	Refusal: "refused: say --allow-replace k3s-dev-control-4 to go on\nrefused: the host does not meet the requirements yet",
	Checks: preflight.Report{{Name: "room", Result: preflight.Fail, Sentence: "local-lvm has 3 GiB", Remedy: "delete what is not needed"}, {
		Name: "mapping", Result: preflight.Warn, Sentence: "the IOMMU of vmhost is off", Remedy: "do this on vmhost", Commands: []string{"# in the firmware: turn on VT-d", "sed -i 's/a*b_c/```/' file", "reboot"},
	}},
	Besides: []string{"k3s-dev-worker-1 runs Talos v1.12.3"},
	Counts:  map[apitype.OpType]int{apitype.OpSame: 20, apitype.OpUpdate: 1, apitype.OpReplace: 1, apitype.OpCreate: 1},
	Steps: []plan.Step{
		{Op: apitype.OpUpdate, URN: machine("k3s-dev-control-1-vm"), Changed: []string{"memory.dedicated"}, New: map[string]any{"memory": 8192.0}},
		{Op: apitype.OpReplace, URN: machine("k3s-dev-control-4-vm"), Changed: []string{"vmId"}},
		{Op: apitype.OpCreate, URN: machine("k3s-dev-worker-9-vm"), Changed: []string{"name"}},
		{Op: apitype.OpSame, URN: machine("k3s-dev-worker-1-vm"), ByHand: []string{"machine.sysctls"}},
	},
}

func TestComment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]review.Plan{
		"refused": refusedPlan,
		"nothing": {Stack: "k3s-dev", Up: up, Hide: asItIs, Counts: map[apitype.OpType]int{apitype.OpSame: 25}},
	} {
		golden.Equal(t, filepath.Join("testdata", name+".md"), test.Comment(review.Limit))
	}
}

// TestNoSecretIsInAComment: neither as it is nor with its markup escaped, wherever a sentence contains it.
func TestNoSecretIsInAComment(t *testing.T) {
	t.Parallel()
	const secret = "s3_cr*t<|>`[key]`"
	says := "it says \"" + secret + "\" somewhere"
	leaking := review.Plan{
		Stack: "k3s-dev", Up: up, Refusal: says, Besides: []string{says}, Hide: func(text string) string { return strings.ReplaceAll(text, secret, "[hidden]") },
		Assessment: risk.Assessment{Findings: []risk.Finding{{Kind: risk.Change, Subject: says, What: []string{says}, Means: []string{says}}}, Notes: []string{says}, Unasked: []string{says}},
		Checks:     preflight.Report{{Sentence: says, Remedy: says, Commands: []string{says}}},
		Steps:      []plan.Step{{Op: apitype.OpUpdate, URN: machine(says), Changed: []string{says}, ByHand: []string{says}, New: map[string]any{"token": secret}}},
	}
	comment := leaking.Comment(review.Limit)
	for _, part := range []string{"s3", "cr", "key"} {
		require.NotContains(t, comment, part)
	}
	require.Equal(t, 13, strings.Count(comment, `it says "`), "each sentence is in it")
	leaking.Hide = asItIs
	require.Contains(t, leaking.Comment(review.Limit), "s3")
}

// TestACommentIsCutWithSense: the refusal, the heaviest changes and the command stay, no matter what else has no room.
func TestACommentIsCutWithSense(t *testing.T) {
	t.Parallel()
	large := refusedPlan
	for i := range 500 {
		large.Assessment.Findings = append(large.Assessment.Findings, risk.Finding{
			Kind: risk.Change, Subject: fmt.Sprintf("k3s-dev-worker-%d", i), What: []string{strings.Repeat("what ", 30)}, Means: []string{strings.Repeat("means ", 30)},
		})
		large.Besides = append(large.Besides, strings.Repeat("besides ", 20))
		large.Checks = append(large.Checks, preflight.Check{Result: preflight.Warn, Sentence: strings.Repeat("check ", 20)})
		large.Steps = append(large.Steps, plan.Step{Op: apitype.OpUpdate, URN: machine(fmt.Sprintf("k3s-dev-worker-%d-vm", i)), Changed: []string{strings.Repeat("path ", 30)}})
	}
	for _, limit := range []int{review.Limit, 4000} {
		comment := large.Comment(limit)
		require.LessOrEqual(t, len(comment), limit)
		require.Greater(t, len(comment), limit*8/10, "the room is used")
		for _, part := range []string{review.Marker("k3s-dev"), "1 REPLACE, 1 REBOOT, 500 CHANGE, 1 CREATE", "**`up` stops here.**", "| **REPLACE** | k3s-dev-control-4 ", up} {
			require.Contains(t, comment, part)
		}
		require.Regexp(t, `\| \| \d+ more \| \| \|\n`, comment)
		require.Equal(t, 3, strings.Count(comment, "\n- and "), "notes, resources and checks")
		require.Equal(t, strings.Count(comment, "<details>"), strings.Count(comment, "</details>"))
	}
}
