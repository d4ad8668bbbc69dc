package operator_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/operator"
)

// emulatedStacks are the stacks hosts, dns and k3s-dev, one of each kind, on which operations end as the test sets. It records the calls.
type emulatedStacks struct {
	none, labs error            // why there are no stacks, or no labs
	errs       map[string]error // of the operation, by the name of the stack
	interrupt  string           // the stack during whose operation an interrupt comes
	cancel     context.CancelFunc
	steps      []string
}

func (s *emulatedStacks) ByLayer() ([]operator.StackSummary, error) {
	return []operator.StackSummary{
		{Stack: "hosts", Kind: operator.KindHosts}, {Stack: "dns", Kind: operator.KindSystems}, {Stack: "k3s-dev", Kind: operator.KindPlatform},
	}, s.none
}

func (s *emulatedStacks) FindLabs(_ context.Context, share bool) error {
	s.steps = append(s.steps, fmt.Sprintf("labs (shared: %t)", share))
	return s.labs
}

func (s *emulatedStacks) Work(ctx context.Context, operation operator.SiteOperation, stack *operator.SiteStack) error {
	s.steps = append(s.steps, string(operation)+" "+stack.Stack)
	stack.Up = &operator.UpResult{Kind: stack.Kind}
	if s.interrupt == stack.Stack {
		s.cancel()
	}
	if ctx.Err() != nil {
		return &operator.FailedError{Operation: string(operation), Interrupted: true}
	}
	return s.errs[stack.Stack]
}

func (s *emulatedStacks) Begun(stack operator.SiteStack) {
	s.steps = append(s.steps, fmt.Sprintf("begin %d of %d, %s", stack.Number, stack.Of, stack.Outcome))
}

func (s *emulatedStacks) Ended(stack operator.SiteStack) {
	s.steps = append(s.steps, fmt.Sprintf("end %s, stops: %t", stack.Outcome, stack.Stops))
}

func (s *emulatedStacks) run(t *testing.T, operation operator.SiteOperation) (*operator.SiteResult, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.cancel = cancel
	return operator.SiteRun{Operation: operation, Stacks: s, Events: s}.Run(ctx)
}

// outcomes returns what came of each stack, in the order of the operation.
func outcomes(result *operator.SiteResult) []string {
	var all []string
	for _, one := range result.Stacks {
		all = append(all, one.Stack+": "+string(one.Outcome))
	}
	return all
}

// TestTheOrderOfASite: from the lowest layer to the highest, and a destroy from the highest. An event reports when the operation on each stack begins
// and when it ends.
func TestTheOrderOfASite(t *testing.T) {
	t.Parallel()
	for operation, want := range map[operator.SiteOperation]struct {
		shares bool
		order  []string
	}{
		operator.SiteUp:      {true, []string{"hosts", "dns", "k3s-dev"}},
		operator.SitePreview: {false, []string{"hosts", "dns", "k3s-dev"}},
		operator.SiteStatus:  {false, []string{"hosts", "dns", "k3s-dev"}},
		operator.SiteDestroy: {false, []string{"k3s-dev", "dns", "hosts"}},
	} {
		t.Run(string(operation), func(t *testing.T) {
			t.Parallel()
			site := &emulatedStacks{}
			result, err := site.run(t, operation)
			require.NoError(t, err)
			require.NoError(t, result.Err())
			require.Nil(t, result.Stopped())
			steps := []string{fmt.Sprintf("labs (shared: %t)", want.shares)}
			for i, stack := range want.order {
				require.Equal(t, stack+": well", outcomes(result)[i])
				require.Equal(t, &operator.UpResult{Kind: result.Stacks[i].Kind}, result.Stacks[i].Up)
				steps = append(steps, fmt.Sprintf("begin %d of 3, not begun", i+1), string(operation)+" "+stack, "end well, stops: false")
			}
			require.Equal(t, steps, site.steps)
		})
	}
}

var (
	errFails   = errors.New("the engine failed")
	errRefused = &operator.RefusedError{Err: errors.New("it is protected")}
)

// TestASiteStopsWhereItHasTo: an operation that changes something at the first stack that is refused or fails, since the layers above stand on it. The
// others look at all stacks.
func TestASiteStopsWhereItHasTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		operation operator.SiteOperation
		err       error
		outcomes  []string
		stopped   string
		judged    error
	}{
		{operator.SiteUp, errFails, []string{"hosts: well", "dns: failed", "k3s-dev: not begun"}, "dns", errFails},
		{operator.SiteUp, errRefused, []string{"hosts: well", "dns: refused", "k3s-dev: not begun"}, "dns", errRefused},
		{operator.SiteDestroy, errFails, []string{"k3s-dev: well", "dns: failed", "hosts: not begun"}, "dns", errFails},
		{operator.SiteDestroy, errRefused, []string{"k3s-dev: well", "dns: refused", "hosts: not begun"}, "dns", errRefused},
		{operator.SitePreview, errFails, []string{"hosts: well", "dns: failed", "k3s-dev: well"}, "", operator.ErrNotWell},
		{operator.SitePreview, operator.ErrChanges, []string{"hosts: well", "dns: changes", "k3s-dev: well"}, "", operator.ErrChanges},
		{operator.SiteStatus, operator.ErrNotWell, []string{"hosts: well", "dns: not sound", "k3s-dev: well"}, "", operator.ErrNotWell},
	} {
		t.Run(fmt.Sprintf("%s: %v", test.operation, test.err), func(t *testing.T) {
			t.Parallel()
			site := &emulatedStacks{errs: map[string]error{"dns": test.err}}
			result, err := site.run(t, test.operation)
			require.NoError(t, err)
			require.Equal(t, test.outcomes, outcomes(result))
			require.Equal(t, test.judged, result.Err())
			require.Equal(t, test.err, result.Stacks[1].Err)
			if test.stopped == "" {
				require.Nil(t, result.Stopped())
				return
			}
			require.Equal(t, test.stopped, result.Stopped().Stack)
			require.Equal(t, operator.SiteStack{
				StackSummary: result.Stacks[2].StackSummary, Number: 3, Of: 3, Outcome: operator.SiteNotBegun,
			}, result.Stacks[2], "nothing was done there")
			require.Equal(t, fmt.Sprintf("end %s, stops: true", result.Worst()), site.steps[len(site.steps)-1], "nor is it told of")
		})
	}
}

// TestTheWorstOfASiteCounts: a failure more than a refusal, and that more than changes.
func TestTheWorstOfASiteCounts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name               string
		hosts, dns, k3sDev error
		worst              operator.SiteOutcome
		judged             string
		refused            bool
	}{
		{name: "all well", worst: operator.SiteWell},
		{name: "changes", k3sDev: operator.ErrChanges, worst: operator.SiteChanges, judged: "there are changes"},
		{name: "a refusal before changes", dns: errRefused, k3sDev: operator.ErrChanges, worst: operator.SiteRefused, judged: "dns: it is protected", refused: true},
		{
			name: "refusals, one of them within another error", hosts: fmt.Errorf("a stack of hosts: %w", errRefused), dns: errRefused, worst: operator.SiteRefused,
			judged: "hosts: a stack of hosts: it is protected\ndns: it is protected", refused: true,
		},
		{name: "what is not sound before a refusal", hosts: operator.ErrNotWell, dns: errRefused, worst: operator.SiteNotSound, judged: "not all is well"},
		{name: "a failure before all", hosts: operator.ErrChanges, dns: errFails, k3sDev: errRefused, worst: operator.SiteFailed, judged: "not all is well"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			site := &emulatedStacks{errs: map[string]error{"hosts": test.hosts, "dns": test.dns, "k3s-dev": test.k3sDev}}
			result, err := site.run(t, operator.SitePreview)
			require.NoError(t, err)
			require.Equal(t, test.worst, result.Worst())
			if test.judged == "" {
				require.NoError(t, result.Err())
				return
			}
			require.EqualError(t, result.Err(), test.judged)
			require.Equal(t, test.refused, errors.As(result.Err(), new(*operator.RefusedError)))
		})
	}
}

// TestAnInterruptOfASite: what is under way ends, and nothing more is begun.
func TestAnInterruptOfASite(t *testing.T) {
	t.Parallel()
	for operation, want := range map[operator.SiteOperation][]string{
		operator.SiteUp:      {"hosts: well", "dns: failed", "k3s-dev: not begun"},
		operator.SitePreview: {"hosts: well", "dns: failed", "k3s-dev: not begun"},
		operator.SiteStatus:  {"hosts: well", "dns: failed", "k3s-dev: not begun"},
		operator.SiteDestroy: {"k3s-dev: well", "dns: failed", "hosts: not begun"},
	} {
		t.Run(string(operation), func(t *testing.T) {
			t.Parallel()
			site := &emulatedStacks{interrupt: "dns"}
			result, err := site.run(t, operation)
			require.NoError(t, err)
			require.Equal(t, want, outcomes(result))
			interrupted := &operator.FailedError{Operation: string(operation), Interrupted: true}
			require.Equal(t, interrupted, result.Stacks[1].Err)
			require.Equal(t, interrupted, result.Err(), "it says how to go on")
		})
	}
}

// TestASiteThatIsRefusedAsAWhole: no stack is touched, and no event is emitted.
func TestASiteThatIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		operation operator.SiteOperation
		site      emulatedStacks
		want      string
		steps     []string
	}{
		{"an operation that none is", "rehearse", emulatedStacks{}, `"rehearse" is no operation on a site: choose up, preview, status or destroy`, nil},
		{"no stacks", operator.SiteUp, emulatedStacks{none: errRefused}, "it is protected", nil},
		{"no labs", operator.SiteStatus, emulatedStacks{labs: errRefused}, "it is protected", []string{"labs (shared: false)"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			site := test.site
			result, err := site.run(t, test.operation)
			require.EqualError(t, err, test.want)
			require.ErrorAs(t, err, new(*operator.RefusedError))
			require.Nil(t, result)
			require.Equal(t, test.steps, site.steps)
		})
	}
}
