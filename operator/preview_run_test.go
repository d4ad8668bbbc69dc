package operator_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/risk"
)

// previewParts implements all parts of a preview. The host is examined concurrently with the others.
type previewParts struct {
	failing  string
	checks   preflight.Report
	judged   operator.Judgement
	examined error

	asked    sync.Mutex
	steps    []string
	hosts    int
	recorded recordedEvents
	// thinks is closed by the engine; the host waits for it.
	thinks chan struct{}
}

func (p *previewParts) step(name string) error {
	p.asked.Lock()
	defer p.asked.Unlock()
	p.steps = append(p.steps, name)
	if name == p.failing {
		return errStep
	}
	return nil
}

func (p *previewParts) FindFormerNames(context.Context) error { return p.step("former names") }
func (p *previewParts) Foresee(context.Context) error         { return p.step("foresee recovery") }

// ExamineHost answers after the engine has started its preview, if a test sets thinks.
func (p *previewParts) ExamineHost(context.Context) (preflight.Report, error) {
	if p.thinks != nil {
		<-p.thinks
	}
	p.hosts++
	return p.checks, p.examined
}

func (p *previewParts) FindOutOfBand(context.Context) (operator.OutOfBand, error) {
	return operator.OutOfBand{}, p.step("find changes by hand")
}

func (p *previewParts) Judge(_ context.Context, _ operator.OutOfBand, targets []string, options ...optpreview.Option) (operator.Judgement, error) {
	if p.thinks != nil {
		close(p.thinks)
	}
	return p.judged, p.step(fmt.Sprintf("judge %v with %d options", targets, len(options)))
}

func (p *previewParts) OtherImages(context.Context) (operator.OtherImages, error) {
	return operator.OtherImages{Unread: []string{"cp-1"}}, p.step("other images")
}

func (p *previewParts) order() operator.PreviewRun {
	return operator.PreviewRun{Recovery: p, Host: p, Engine: p, Nodes: p, Place: remedy.Place{Stack: "--stack k3s-dev"}, Tell: p.recorded.Handle}
}

var wholePreview = []string{"former names", "foresee recovery", "find changes by hand", "judge [] with 0 options", "other images"}

// TestTheOrderOfAPreview: the host is examined once, while the engine previews.
func TestTheOrderOfAPreview(t *testing.T) {
	t.Parallel()
	p := &previewParts{judged: operator.Judgement{Counts: map[apitype.OpType]int{apitype.OpCreate: 1}}, thinks: make(chan struct{})}
	preview, err := p.order().Run(t.Context(), operator.PreviewOptions{})
	require.NoError(t, err)
	require.Equal(t, wholePreview, p.steps)
	require.Equal(t, 1, p.hosts)
	require.Equal(t, operator.OtherImages{Unread: []string{"cp-1"}}, preview.Images)
	require.ErrorIs(t, preview.Err(), operator.ErrChanges)
	require.Empty(t, p.recorded)

	p = &previewParts{}
	preview, err = p.order().Run(t.Context(), operator.PreviewOptions{Diff: true, ImportFile: "import.json"})
	require.NoError(t, err)
	require.Contains(t, p.steps, "judge [] with 2 options")
	require.NoError(t, preview.Err(), "nothing would change")
}

// TestAPreviewEndsWithWhatFails and runs no further step.
func TestAPreviewEndsWithWhatFails(t *testing.T) {
	t.Parallel()
	for i, step := range wholePreview {
		p := &previewParts{failing: step}
		_, err := p.order().Run(t.Context(), operator.PreviewOptions{})
		require.ErrorIs(t, err, errStep, step)
		require.Equal(t, wholePreview[:i+1], p.steps, "after %q", step)
	}
	p := &previewParts{examined: errStep}
	_, err := p.order().Run(t.Context(), operator.PreviewOptions{})
	require.ErrorIs(t, err, errStep, "the host")
	require.Equal(t, wholePreview, p.steps, "the engine thinks meanwhile")
}

// TestAHostThatRefuses: the host's refusal is the error if the engine failed, else one of the reasons why up would stop.
func TestAHostThatRefuses(t *testing.T) {
	t.Parallel()
	const refusal = "refused: the host does not meet the requirements yet; 2 checks: 1 ok, 1 failure. Nothing was touched"
	checks := preflight.Report{
		{Name: "version", Result: preflight.OK, Sentence: "Proxmox VE answers"},
		{Name: "storage", Result: preflight.Fail, Sentence: "there is no storage tank", Remedy: "see `em-infra preflight`"},
	}
	unsound := operator.Checks{{Name: "storage", Result: operator.CheckFailure, Sentence: "there is no storage tank", Remedy: "see `em-infra preflight --stack k3s-dev`"}}

	p := &previewParts{checks: checks, failing: wholePreview[3]}
	_, err := p.order().Run(t.Context(), operator.PreviewOptions{})
	require.EqualError(t, err, refusal)
	require.ErrorAs(t, err, new(*operator.RefusedError))
	require.Equal(t, recordedEvents{operator.HostChecked{Checks: unsound}}, p.recorded)

	needed := operator.Permission{Flag: operator.FlagReplace, Subject: "cp-1"}
	p = &previewParts{checks: checks, judged: operator.Judgement{Assessment: operator.Assessment{Findings: []operator.Finding{{Kind: risk.Replace, Subject: "cp-1", Needs: []operator.Permission{needed}}}}}}
	preview, err := p.order().Run(t.Context(), operator.PreviewOptions{})
	require.NoError(t, err)
	require.Equal(t, unsound, preview.Host)
	require.Contains(t, preview.Refusal, "say --allow-replace cp-1 to go on")
	require.Contains(t, preview.Refusal, "\n"+refusal)
	require.ErrorAs(t, preview.Err(), new(*operator.RefusedError))
	require.Empty(t, p.recorded, "the result has it")

	preview, err = p.order().Run(t.Context(), operator.PreviewOptions{Allow: []operator.Permission{needed}})
	require.NoError(t, err)
	require.Equal(t, refusal, preview.Refusal)
	require.False(t, errors.Is(preview.Err(), operator.ErrChanges))
}
