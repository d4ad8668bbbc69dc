package operator_test

import (
	"bytes"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
)

const urnVM = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$em-infra:index:TalosNode$proxmoxve:VM/virtualMachine:VirtualMachine::k3s-dev-worker-1-vm"

const reviewed, other = "0123456789abcdef", "fedcba9876543210"

// TestOnlyThePlanThatWasReviewedIsCarriedOut: another one is refused, also by the second pass over what is in the cluster.
func TestOnlyThePlanThatWasReviewedIsCarriedOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		work operator.Work
		err  string
	}{
		{operator.Work{}, ""},
		{operator.Work{Again: true}, ""},
		{operator.Work{Plan: other}, ""},
		{operator.Work{Plan: reviewed}, "the plan is fedcba9876543210 by now, and not 0123456789abcdef: nothing was touched; look at `em-infra preview` again, then give --plan the fingerprint that it shows"},
		{operator.Work{Plan: reviewed, Again: true}, "the plan 0123456789abcdef is carried out; what is in the cluster is no part of it, because the Kubernetes API did not answer then: look at `em-infra preview`, then run `em-infra up` again with the fingerprint that it shows"},
	} {
		if err := test.work.IsPlanned(other); test.err != "" {
			require.EqualError(t, err, test.err)
		} else {
			require.NoError(t, err)
		}
	}
}

// TestAPlanIsComparedBeforeAnythingIsTouched: also in a first run, which is otherwise not assessed.
func TestAPlanIsComparedBeforeAnythingIsTouched(t *testing.T) {
	t.Parallel()
	p := &parts{noState: true}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: span.Whole().Last, Plan: reviewed}, nil))
	require.Equal(t, whole, p.steps)
	require.Equal(t, reviewed, p.weighed.Plan)
}

// TestThePreviewAsAComment: it contains the command that carries out the plan, and no secret.
func TestThePreviewAsAComment(t *testing.T) {
	t.Parallel()
	const secret = "swordfish_*1"
	says := "the patch with " + secret + "42 differs"
	p := operator.Commented(operator.Preview{
		Assessment: risk.Assessment{Findings: []risk.Finding{
			{Kind: risk.Replace, Subject: "cp-1", What: []string{says}, Needs: []operator.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}}},
			{Kind: risk.Delete, Subject: "w-1", Needs: []operator.Permission{{Flag: risk.FlagDelete, Subject: "w-1"}}},
		}},
		Changes: map[apitype.OpType]int{apitype.OpReplace: 1}, Refusal: says, Fingerprint: reviewed, Host: operator.Checks{{Result: preflight.Warn, Sentence: says}},
		Images: operator.OtherImages{Unread: []string{says}},
	}, []plan.Step{{Op: apitype.OpReplace, URN: urnVM, Changed: []string{says}}}, []operator.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}},
		"k3s-dev", remedy.Place{Stack: "--stack k3s-dev --inventory mine"}, artifacts.NewRedactor([]string{secret}))
	var comment bytes.Buffer
	require.NoError(t, p.WriteMarkdown(&comment))
	require.NotContains(t, comment.String(), "swordfish")
	require.Contains(t, comment.String(), "`em-infra up --stack k3s-dev --inventory mine --yes --plan 0123456789abcdef --allow-replace cp-1 --allow-delete w-1` carries out this plan")
	p.Findings = append(p.Findings, risk.Finding{Kind: risk.Impossible, Subject: "cp-2"})
	var impossible bytes.Buffer
	require.NoError(t, p.WriteMarkdown(&impossible))
	require.NotContains(t, impossible.String(), "carries out", "no command does what is impossible")
	require.Equal(t, 5, bytes.Count(comment.Bytes(), []byte(`the patch with \[secret]42 differs`)))
}
