package proxmox

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/pace"
)

// FaultSet applies the faults of the catalogue that are set.
type FaultSet struct {
	pace  pace.Pace
	asked *fault.Set
}

// NewFaultSet returns the faults of a set, which must know FaultKinds.
func NewFaultSet(p pace.Pace, asked *fault.Set) *FaultSet { return &FaultSet{pace: p, asked: asked} }

var _ Faults = (*FaultSet)(nil)

// pick returns the fault that occurs on an occasion, nil for none.
func (f *FaultSet) pick(o fault.Occasion, concerns func(*faultKind) bool) *faultKind {
	name := f.asked.Trigger(o, func(name string) bool {
		k := kindNamed(name)
		return k != nil && concerns(k)
	})

	return kindNamed(name)
}

// kindNamed returns nil for a fault that is not a host's.
func kindNamed(name string) *faultKind {
	i := slices.IndexFunc(catalogue, func(k faultKind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}

	return &catalogue[i]
}

// Call implements Faults.
func (f *FaultSet) Call(ctx context.Context, c Call) error {
	k := f.pick(occasionOfCall(c), func(k *faultKind) bool { return k.answer != nil && k.call(c) })
	if k == nil {
		return nil
	}

	if err := f.pace.Sleep(ctx, k.wait); err != nil {
		return err
	}

	return k.answer(c)
}

// Lost implements Faults.
func (f *FaultSet) Lost(c Call) bool {
	return f.pick(occasionOfCall(c), func(k *faultKind) bool { return k.lost && k.call(c) }) != nil
}

// Step implements Faults.
func (f *FaultSet) Step(ctx context.Context, t TaskInfo, step Step) error {
	k := f.pick(occasionOfTask(t), func(k *faultKind) bool { return k.step == step && (k.work == nil || k.work(t)) })
	if k == nil {
		return nil
	}

	if err := f.pace.Sleep(ctx, k.wait); err != nil {
		return err
	}

	switch {
	case k.hangs:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.asked.Cleared(k.Name):
			return nil
		}
	case k.fail == nil:
		return nil
	default:
		return k.fail(t)
	}
}

// Lag implements Faults.
func (f *FaultSet) Lag(t TaskInfo, effect Effect) time.Duration {
	k := f.pick(occasionOfTask(t), func(k *faultKind) bool { return k.effect == effect })
	if k == nil {
		return 0
	}

	return k.lag
}

func occasionOfCall(c Call) fault.Occasion {
	return fault.Occasion{Node: c.Node, VMIDs: []int{c.VMID, c.Creates}, Endpoint: c.Endpoint}
}

// occasionOfTask has the VM that the task creates or changes; for a clone also its source.
func occasionOfTask(t TaskInfo) fault.Occasion {
	o := fault.Occasion{Node: t.Node, VMIDs: []int{t.VMID}}
	if source, err := strconv.Atoi(t.ID); err == nil {
		o.VMIDs = append(o.VMIDs, source)
	}

	return o
}
