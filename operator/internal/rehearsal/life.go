package rehearsal

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/poll"
)

// Life is the life of a cluster to rehearse.
type Life struct {
	// System is the stack. Required.
	System System
	// Inventory is the stack's inventory, Extended the one with an additional worker. Required.
	Inventory *inventory.Inventory
	Extended  *Extended
	// Keep omits the last step, destroy.
	Keep bool
	// Patience is the time limit for Nodes to become Ready after up.
	Patience time.Duration
	// Done is called after each step. May be nil.
	Done func(Step)

	before Host
}

// step is a part of the life. Its note describes what was found; differences are the unexpected results.
type step struct {
	name string
	do   func(context.Context) (note string, differences []string, err error)
}

// Run runs all steps until one fails.
func (l *Life) Run(ctx context.Context, report *Report) {
	for _, step := range l.steps() {
		started := time.Now()
		note, differences, err := step.do(ctx)
		result := Step{Name: step.name, Note: note, Seconds: time.Since(started).Seconds(), Differences: differences}
		if err != nil {
			result.Error = err.Error()
		}
		report.Add(result)
		if l.Done != nil {
			l.Done(result)
		}
		if err != nil {
			return
		}
	}
}

func (l *Life) steps() []step {
	steps := []step{
		{"preflight", l.preflight},
		{"up", l.up},
		{"no-op", l.preview},
		{"scale up", l.scaleUp},
		{"scale down", l.scaleDown},
	}
	if l.Keep {
		return steps
	}
	return append(steps, step{"destroy", l.destroy})
}

func (l *Life) preflight(ctx context.Context) (note string, differences []string, err error) {
	note, err = l.System.Preflight(ctx)
	return note, nil, err
}

func (l *Life) up(ctx context.Context) (note string, differences []string, err error) {
	if l.before, err = l.System.Host(ctx); err != nil {
		return "", nil, err
	}
	if err := l.System.Scale(false); err != nil {
		return "", nil, err
	}
	changes, err := l.System.Up(ctx)
	if err != nil {
		return "", nil, err
	}
	differences = unexpected(changes, Create)
	ready, found, err := l.stands(ctx, l.Inventory)
	return fmt.Sprintf("%s; %s", counted(changes), ready), append(differences, found...), err
}

func (l *Life) preview(ctx context.Context) (note string, differences []string, err error) {
	before, err := l.System.Writes()
	if err != nil {
		return "", nil, err
	}
	changes, err := l.System.Preview(ctx)
	if err != nil {
		return "", nil, err
	}
	differences = unexpected(changes)
	after, err := l.System.Writes()
	for _, write := range after[min(len(before), len(after)):] {
		differences = append(differences, fmt.Sprintf("the preview wrote to the host: %s", write))
	}
	return counted(changes), differences, err
}

func (l *Life) scaleUp(ctx context.Context) (note string, differences []string, err error) {
	if err := l.System.Scale(true); err != nil {
		return "", nil, err
	}
	changes, err := l.System.Up(ctx)
	if err != nil {
		return "", nil, err
	}
	differences = unexpected(changes, Create)
	if len(changes) == 0 {
		differences = append(differences, fmt.Sprintf("%s is new in the inventory, and nothing was created for it", l.Extended.Worker.Name))
	}
	ready, found, err := l.stands(ctx, l.Extended.Inventory)
	return fmt.Sprintf("%s; %s", counted(changes), ready), append(differences, found...), err
}

func (l *Life) scaleDown(ctx context.Context) (note string, differences []string, err error) {
	if err := l.System.Scale(false); err != nil {
		return "", nil, err
	}
	changes, err := l.System.Up(ctx)
	if err != nil {
		return "", nil, err
	}
	differences = unexpected(changes, Delete)
	if len(changes) == 0 {
		differences = append(differences, fmt.Sprintf("%s has left the inventory, and nothing was deleted", l.Extended.Worker.Name))
	}
	ready, found, err := l.stands(ctx, l.Inventory)
	return fmt.Sprintf("%s; %s", counted(changes), ready), append(differences, found...), err
}

func (l *Life) destroy(ctx context.Context) (note string, differences []string, err error) {
	changes, err := l.System.Destroy(ctx)
	if err != nil {
		return "", nil, err
	}
	after, err := l.System.Host(ctx)
	if err != nil {
		return "", nil, err
	}
	left := leftBehind(l.before, after)
	note = counted(changes)
	if len(left) == 0 {
		note += "; the host is as it was" + keptISOs(l.before, after)
	}
	return note, append(unexpected(changes, Delete), left...), nil
}

// stands compares the machines and Nodes with an inventory, after waiting for the Nodes.
func (l *Life) stands(ctx context.Context, inv *inventory.Inventory) (ready string, differences []string, err error) {
	nodes, err := l.readyNodes(ctx, inv)
	if err != nil {
		return "", nil, err
	}
	host, err := l.System.Host(ctx)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("%d/%d nodes Ready", len(inv.Nodes)-len(unready(inv, nodes)), len(inv.Nodes)), append(nodeDifferences(inv, nodes), machineDifferences(inv, host)...), nil
}

// readyNodes returns the Nodes as soon as all nodes of the inventory are Ready, or after the time limit.
func (l *Life) readyNodes(ctx context.Context, inv *inventory.Inventory) (nodes []Node, err error) {
	const interval = 200 * time.Millisecond
	limited, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	ended := poll.Until(limited, interval, func(context.Context) (bool, error) {
		nodes, err = l.System.Nodes(ctx) // the limit ends no query, whose answer is reported
		return err == nil && len(unready(inv, nodes)) == 0, nil
	})
	if ended != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nodes, err
}

// counted returns the numbers of changes, as in "3 created, 1 updated".
func counted(changes []Change) string {
	var parts []string
	for _, kind := range []struct {
		operation Operation
		done      string
	}{{Create, "created"}, {Update, "updated"}, {Replace, "replaced"}, {Delete, "deleted"}} {
		count := 0
		for _, change := range changes {
			if change.Operation == kind.operation {
				count++
			}
		}
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, kind.done))
		}
	}
	if len(parts) == 0 {
		return "nothing changes"
	}
	return strings.Join(parts, ", ")
}
