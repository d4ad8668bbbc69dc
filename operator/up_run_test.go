package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/plan"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator"
	"github.com/em-infra/em-infra/operator/internal/risk"
	"github.com/em-infra/em-infra/operator/internal/span"
)

// parts implements all parts of an up and records the order of their calls.
type parts struct {
	steps    []string
	failing  string   // the step that does not succeed
	refusing string   // the step that is refused
	unsaved  error    // of the backup after the engine
	noState  bool     // there is nothing to back up
	targets  []string // of the span
	noAnswer []string // of the Kubernetes API, at each query
	judged   operator.Judgement
	restores bool // etcd
	weighed  operator.Work
	refusal  error      // of the second pass
	later    [][]string // what each run of the engine leaves to a second pass
}

var errStep = errors.New("refused in a test")

func (p *parts) step(name string) error {
	p.steps = append(p.steps, name)
	switch name {
	case p.failing:
		return errStep
	case p.refusing:
		return fmt.Errorf("%s: %w", name, &operator.RefusedError{Err: errStep})
	}
	return nil
}

func (p *parts) SettleProcesses(context.Context) error {
	return p.step("end what a killed run left working")
}
func (p *parts) CheckHost(context.Context) error      { return p.step("preflight") }
func (p *parts) AwaitStarts(context.Context) error    { return p.step("wait for hosts that start") }
func (p *parts) DeleteNeverRan(context.Context) error { return p.step("delete remnants") }

func (p *parts) Recover(_ context.Context, goingUp bool) error {
	return p.step(fmt.Sprintf("recover (going up: %t)", goingUp))
}

func (p *parts) LostISOs(context.Context) ([]string, error) {
	return []string{"iso"}, p.step("find lost ISOs")
}

func (p *parts) BackUp(_ context.Context, reason string) (*operator.KeptBackup, error) {
	if err := p.step("backup " + reason); err != nil || p.noState {
		return nil, err
	}
	if reason == "after-up" && p.unsaved != nil {
		return nil, p.unsaved
	}
	return &operator.KeptBackup{Backup: operator.Backup{Name: reason}}, nil
}

func (p *parts) PrepareState(context.Context, operator.OutOfBand, operator.Judgement) error {
	return p.step("prepare the state")
}

func (p *parts) Narrow(context.Context, span.Span) ([]string, error) {
	return p.targets, p.step("choose targets")
}

func (p *parts) Judge(_ context.Context, _ operator.OutOfBand, targets []string, _ ...optpreview.Option) (operator.Judgement, error) {
	return p.judged, p.step(fmt.Sprintf("judge %v", targets))
}

func (p *parts) Weigh(_ context.Context, _ operator.Judgement, w operator.Work) error {
	p.weighed = w
	if w.Again && p.refusal != nil {
		return p.refusal
	}
	return p.step(fmt.Sprintf("consent %v", w.Allowed))
}

func (p *parts) Update(_ context.Context, w operator.Work, reachesCluster bool) error {
	p.later = append(p.later, w.Later)
	return p.step(fmt.Sprintf("engine %s %v %v (cluster: %t)", w.Name, w.Targets, w.Replace, reachesCluster))
}

func (p *parts) Failed(_ context.Context, operation string, err error) error {
	return &operator.FailedError{Operation: operation, Causes: []operator.Cause{}, Again: err.Error()}
}

func (p *parts) CheckEtcd(context.Context) error { return p.step("check etcd") }

func (p *parts) NextToReplace(_ context.Context, names []string) (string, error) {
	return names[len(names)-1], p.step(fmt.Sprintf("choose of %v", names))
}

func (p *parts) FindOutOfBand(context.Context) (operator.OutOfBand, error) {
	seen := operator.OutOfBand{}
	if len(p.noAnswer) > 0 {
		seen.NoAnswer, p.noAnswer = p.noAnswer[0], p.noAnswer[1:]
	}
	return seen, p.step("find changes by hand")
}

func (p *parts) KeepSnapshot(context.Context, operator.Judgement) error {
	return p.step("snapshot of etcd")
}

func (p *parts) PrepareNodes(context.Context, operator.Judgement) error {
	return p.step("prepare the nodes")
}

func (p *parts) PrepareRestore(_ context.Context, of span.Span) error {
	if !p.restores {
		return nil
	}
	return p.step("choose the snapshot")
}

func (p *parts) BeginRestore(context.Context) (bool, error) {
	if !p.restores {
		return false, nil
	}
	return true, p.step("begin the restore")
}

func (p *parts) FinishRestore(context.Context) error { return p.step("finish the restore") }

func (p *parts) AwaitKubernetes(context.Context) error { return p.step("await Kubernetes") }

func (p *parts) SalvageCredentials(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.step("salvage credentials")
}

func (p *parts) Conclude(context.Context) (*operator.UpResult, error) {
	return &operator.UpResult{Last: phase.Verify}, p.step("verify")
}

func (p *parts) order() operator.UpRun {
	return operator.UpRun{Recovery: p, Host: p, State: p, Copies: p, Engine: p, Cluster: p, Restore: p}
}

// whole is the order of the steps of an up with an existing state.
var whole = []string{
	"end what a killed run left working", "preflight", "wait for hosts that start", "backup before-up", "recover (going up: true)", "check etcd", "choose targets", "find changes by hand",
	"judge []", "consent []", "delete remnants", "snapshot of etcd", "prepare the nodes", "prepare the state", "find lost ISOs", "engine up [] [iso] (cluster: true)", "backup after-up",
}

// engineStep is the place of the engine in it.
const engineStep = 15

func TestTheOrderOfAnUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		span  span.Span
		steps []string
	}{
		{span.Span{Last: phase.Verify}, append(append([]string{}, whole...), "verify")},
		{span.Span{Last: phase.Verify, Only: true}, []string{"verify"}},
	} {
		p := &parts{}
		result, err := p.order().Run(t.Context(), test.span, nil)
		require.NoError(t, err)
		require.Equal(t, &operator.UpResult{Last: phase.Verify}, result)
		require.Equal(t, test.steps, p.steps)
	}
	p := &parts{}
	result, err := p.order().Run(t.Context(), span.Span{Last: phase.Addons}, nil)
	require.NoError(t, err)
	require.Equal(t, &operator.UpResult{Last: phase.Addons}, result)
	require.NotContains(t, p.steps, "verify")

	p = &parts{failing: "preflight"}
	_, err = p.order().Run(t.Context(), span.Span{Last: phase.Verify}, nil)
	require.ErrorIs(t, err, errStep)
	require.NotContains(t, p.steps, "verify")
}

// TestWhatIsRefusedLeavesTheRestUndone: no step follows a step that fails, up to the run of the engine.
func TestWhatIsRefusedLeavesTheRestUndone(t *testing.T) {
	t.Parallel()
	require.Contains(t, whole[engineStep], "engine")
	for i, step := range whole[:engineStep] {
		p := &parts{failing: step}
		require.ErrorIs(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Verify}, nil), errStep, step)
		require.Equal(t, whole[:i+1], p.steps, "after %q", step)
	}
}

// TestTheSecondPassIsNoRefusal: the first one has changed the machines.
func TestTheSecondPassIsNoRefusal(t *testing.T) {
	t.Parallel()
	p := &parts{noAnswer: []string{"no API server answers"}, refusal: &operator.RefusedError{Err: errStep}, judged: operator.Judgement{Counts: map[apitype.OpType]int{apitype.OpUpdate: 1}}}
	err := p.order().BringUp(t.Context(), span.Whole(), nil)
	require.EqualError(t, err, "the machines are changed, and what is in the cluster is not: "+errStep.Error())
	require.NotErrorAs(t, err, new(*operator.RefusedError))
}

// TestNothingIsRefusedAfterAChange: a refusal means that nothing was touched.
func TestNothingIsRefusedAfterAChange(t *testing.T) {
	t.Parallel()
	const engine = "engine up [] [iso] (cluster: true)"
	changes := operator.Judgement{Counts: map[apitype.OpType]int{apitype.OpUpdate: 1}}
	for _, test := range []struct {
		p         parts
		isRefusal bool
	}{
		{parts{refusing: "preflight"}, true},
		{parts{refusing: "consent []"}, true},
		{parts{refusing: "verify"}, false},
		{parts{refusing: "backup after-up"}, false},
		{parts{refusing: "salvage credentials", failing: engine}, false},
		{parts{refusing: "await Kubernetes", noAnswer: []string{"no API server answers"}}, false},
		{parts{refusing: "finish the restore", restores: true}, false},
	} {
		_, err := test.p.order().Run(t.Context(), span.Whole(), nil)
		require.ErrorIs(t, err, errStep, test.p.refusing)
		require.Equal(t, test.isRefusal, errors.As(err, new(*operator.RefusedError)), test.p.refusing)
	}
	only := &parts{refusing: "verify"}
	_, err := only.order().Run(t.Context(), span.Span{Last: phase.Verify, Only: true}, nil)
	require.ErrorAs(t, err, new(*operator.RefusedError), "it changes nothing")

	for step, isRefusal := range map[string]bool{"choose of [cp-1 cp-2]": true, "choose of [cp-1]": false} {
		p := &parts{refusing: step, judged: changes}
		p.judged.Alone = []string{"cp-1", "cp-2"}
		_, err := p.order().Run(t.Context(), span.Whole(), nil)
		require.ErrorIs(t, err, errStep, step)
		require.Equal(t, isRefusal, errors.As(err, new(*operator.RefusedError)), step)
	}
}

// TestADryRunStartsNoMachine: what a killed run left is only looked at.
func TestADryRunStartsNoMachine(t *testing.T) {
	t.Parallel()
	p := &parts{}
	run := p.order()
	run.DryRun = true
	require.NoError(t, run.BringUp(t.Context(), span.Span{Last: phase.Verify}, nil))
	require.Contains(t, p.steps, "recover (going up: false)")
	require.NotContains(t, p.steps, "wait for hosts that start")

	addons := &parts{}
	require.NoError(t, addons.order().BringUp(t.Context(), span.Span{Last: phase.Addons, Only: true}, nil))
	require.NotContains(t, addons.steps, "wait for hosts that start", "it starts no machine")
}

// TestARestoreOfEtcdInAnUp: nothing in the cluster is changed before etcd is restored, and a second pass changes it afterwards.
func TestARestoreOfEtcdInAnUp(t *testing.T) {
	t.Parallel()
	restored := []string{
		"end what a killed run left working", "preflight", "wait for hosts that start", "backup before-up", "recover (going up: true)", "choose the snapshot", "check etcd", "choose targets", "find changes by hand",
		"judge []", "consent []", "delete remnants", "snapshot of etcd", "begin the restore", "prepare the state", "find lost ISOs",
		"engine up [] [iso] (cluster: false)", "backup after-up", "finish the restore", "await Kubernetes", "find changes by hand", "judge []",
	}
	p := &parts{restores: true}
	require.NoError(t, p.order().BringUp(t.Context(), span.Whole(), nil))
	require.Equal(t, restored, p.steps)
	for _, step := range []string{"choose the snapshot", "begin the restore", "finish the restore"} {
		p := &parts{restores: true, failing: step}
		require.ErrorIs(t, p.order().BringUp(t.Context(), span.Whole(), nil), errStep)
		require.Equal(t, restored[:slices.Index(restored, step)+1], p.steps)
	}
}

// TestWorkersAreChangedAfterARestore: a worker that is removed or changed needs the API of Kubernetes, so it is left to the second pass.
func TestWorkersAreChangedAfterARestore(t *testing.T) {
	t.Parallel()
	const membership = "urn:pulumi:k3s-dev::em-infra::em-infra:index:TalosCluster$command:local:Command::k3s-dev-worker-1-membership"
	judged := operator.Judgement{
		Counts: map[apitype.OpType]int{apitype.OpDelete: 1},
		Steps:  []plan.Step{{Op: apitype.OpDelete, URN: membership, Old: map[string]any{"delete": "em-infra node remove --name worker-1 --address 192.168.20.21"}}},
	}
	p := &parts{restores: true, judged: judged}
	require.NoError(t, p.order().BringUp(t.Context(), span.Whole(), nil))
	require.Equal(t, [][]string{{membership}, nil}, p.later)

	p = &parts{judged: judged}
	require.NoError(t, p.order().BringUp(t.Context(), span.Whole(), nil))
	require.Equal(t, [][]string{nil}, p.later)
}

// TestControlPlanesAreReplacedAlone: each in a run of the engine of its own, after one consent, and what is left comes after them.
func TestControlPlanesAreReplacedAlone(t *testing.T) {
	t.Parallel()
	before := slices.Index(whole, "snapshot of etcd") // what never ran is deleted once, before them
	alone := slices.Clone(whole[:before])
	for _, names := range []string{"[cp-1 cp-2]", "[cp-1]"} {
		alone = append(alone, "choose of "+names, "choose targets", "judge []", "snapshot of etcd", "prepare the state", "engine up-cp-"+names[len(names)-2:len(names)-1]+" [] [] (cluster: true)", "backup after-up")
	}
	alone = append(append(alone, "find changes by hand", "judge []"), whole[before:]...)
	p := &parts{judged: operator.Judgement{Assessment: operator.Assessment{Alone: []string{"cp-1", "cp-2"}}}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Whole(), nil))
	require.Equal(t, alone, p.steps)

	p = &parts{judged: p.judged}
	require.EqualError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Provision}, nil),
		"cp-1, cp-2 would be replaced one after the other, each with all phases: run up without --until and --only, or give one of them with --only-node")
	require.NotContains(t, p.steps, "consent []", "it is refused before anything is asked")

	for _, step := range []string{"choose of [cp-1 cp-2]", "engine up-cp-2 [] [] (cluster: true)", "choose of [cp-1]"} {
		p := &parts{judged: operator.Judgement{Assessment: operator.Assessment{Alone: []string{"cp-1", "cp-2"}}}, failing: step}
		require.Error(t, p.order().BringUp(t.Context(), span.Whole(), nil))
		require.Equal(t, step, p.steps[slices.Index(alone, step)])
		require.NotContains(t, p.steps, whole[engineStep], "what comes after is left undone")
	}
}

// TestAnEngineThatFails: a backup is written, and the credentials of a working cluster are kept, even after an interrupt.
func TestAnEngineThatFails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &parts{failing: whole[engineStep]}
	err := p.order().BringUp(ctx, span.Span{Last: phase.Verify}, nil)
	var failure *operator.FailedError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, &operator.FailedError{Operation: "up", Causes: []operator.Cause{}, Again: errStep.Error()}, failure)
	require.Equal(t, append(append([]string{}, whole...), "salvage credentials"), p.steps)
}

func TestABackupThatFailsAfterTheEngine(t *testing.T) {
	t.Parallel()
	p := &parts{failing: "backup after-up"}
	require.ErrorIs(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Verify}, nil), errStep)
	require.Equal(t, whole, p.steps, "the state is not safe, so nothing else is read from it")
}

// TestABackupThatFailsAfterAnEngineThatFails: neither hides the other, and what has changed the host is no refusal.
func TestABackupThatFailsAfterAnEngineThatFails(t *testing.T) {
	t.Parallel()
	p := &parts{failing: whole[engineStep], unsaved: &operator.RefusedError{Err: errors.New("the state cannot be read")}}
	err := p.order().BringUp(t.Context(), span.Span{Last: phase.Verify}, nil)
	require.ErrorAs(t, err, new(*operator.FailedError))
	require.NotErrorAs(t, err, new(*operator.RefusedError))
	require.ErrorContains(t, err, "there is no backup of what this run has changed (the state cannot be read): mend that, then run `em-infra state backup`")
	require.Contains(t, p.steps, "salvage credentials")
}

// TestAFirstUpIsJudgedForAConsentOnly, because it can neither delete nor replace.
func TestAFirstUpIsJudgedForAConsentOnly(t *testing.T) {
	t.Parallel()
	for _, asks := range []bool{true, false} {
		p := &parts{noState: true}
		run := p.order()
		run.AsksConsent = asks
		require.NoError(t, run.BringUp(t.Context(), span.Span{Last: phase.Verify}, nil))
		if asks {
			require.Equal(t, whole, p.steps)
		} else {
			require.Equal(t, append(append([]string{}, whole[:8]...), whole[10:]...), p.steps)
		}
	}
}

func TestAnUpOfTargets(t *testing.T) {
	t.Parallel()
	p := &parts{targets: []string{"vm"}}
	allowed := []operator.Permission{{Flag: risk.FlagReplace, Subject: "cp-1"}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Provision, Only: true}, allowed))
	require.Contains(t, p.steps, "judge [vm]")
	require.Contains(t, p.steps, "consent [--allow-replace cp-1]")
	require.Contains(t, p.steps, "engine up-only-provision [vm] [iso] (cluster: true)")
}

// TestAClusterThatDoesNotAnswer: its resources are excluded from the first pass. A second pass follows once it answers, and asks for
// consent only if something is left to do.
func TestAClusterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	first := append([]string{}, whole...)
	first[engineStep] = "engine up [] [iso] (cluster: false)"
	p := &parts{noAnswer: []string{"no answer in 10s"}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Verify}, nil))
	require.Equal(t, append(first, "await Kubernetes", "find changes by hand", "judge []"), p.steps, "nothing is left to do")

	p = &parts{noAnswer: []string{"no answer in 10s", "no answer in 10s"}, judged: operator.Judgement{Counts: map[apitype.OpType]int{apitype.OpUpdate: 1}}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Verify}, nil))
	require.Equal(t, append(append(first, "await Kubernetes"), whole[7:]...), p.steps, "what fails now says so itself")

	p = &parts{noAnswer: []string{"no answer in 10s"}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Provision}, nil))
	require.NotContains(t, p.steps, "await Kubernetes", "nothing of the cluster is in the span")

	p = &parts{noAnswer: []string{"no answer in 10s"}, judged: operator.Judgement{Assessment: operator.Assessment{Lost: []string{"cp-1"}}}}
	require.NoError(t, p.order().BringUp(t.Context(), span.Span{Last: phase.Provision}, nil))
	require.Contains(t, p.steps, "engine up-until-provision [] [iso] (cluster: true)", "nothing of the cluster is left in the state")
}
