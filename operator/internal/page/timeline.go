package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/inventory/manifest"
	"github.com/em-infra/em-infra/internal/phase"
	"github.com/em-infra/em-infra/operator/internal/artifacts"
)

// Timeline is a run, drawn along its time.
type Timeline struct {
	artifacts.Past

	// Changes are the numbers of resources by what was done with them.
	Changes string
	// Ticks are the marks of its axis.
	Ticks []Tick
	// Phases are the phases, each as a lane with one bar.
	Phases []Lane
	// Lanes are the operations by node; those of no node come first.
	Lanes []Lane
	// Longest are the operations that waited for one another and ended last, in their order: what made the run as long as it was.
	Longest []Step
}

// Tick is a mark of the axis.
type Tick struct {
	Left float64
	Text string
}

// Lane is a node, or a phase, with its operations in rows in which none overlap.
type Lane struct {
	Name  string
	Rows  [][]Bar
	Steps []Step
	// Took is the time from the first beginning to the last end, in seconds.
	Took float64
}

// Bar is an operation along the time. Left and Width are percent of the run.
type Bar struct {
	Left, Width  float64
	Class, Title string
}

// Step is an operation in words.
type Step struct {
	What, Operation, Phase, Outcome string
	// After and Seconds are when it began after the beginning of the run, and how long it took.
	After, Seconds float64
	// WaitedFor is what it waited for; empty for nothing.
	WaitedFor string
}

// The lanes of what belongs to no node, and to no system.
const (
	laneCluster   = "cluster"
	laneStack     = "stack" // of a stack that is no cluster
	laneTemplates = "templates"
)

// NewTimeline arranges a run of a stack of a kind. nodes are the names of its nodes or systems; those of machines that were removed are found
// by their operations.
func NewTimeline(run artifacts.Past, kind manifest.Kind, nodes []string) Timeline {
	t := Timeline{Past: run, Changes: changes(run), Ticks: ticks(run.Summary.Seconds), Longest: longest(run.Summary)}
	for _, one := range run.Summary.Phases {
		t.Phases = append(t.Phases, phaseLane(run.Summary, one.Phase))
	}
	nodes = named(nodes, run.Summary)
	shared := laneCluster
	if kind == manifest.Hosts || kind == manifest.Systems {
		shared = laneStack
	}
	for _, name := range append([]string{shared, laneTemplates}, nodes...) {
		of := func(r artifacts.ResourceSummary) bool { return cmp.Or(laneOf(r, nodes), shared) == name }
		if lane := newLane(name, run.Summary, of); len(lane.Steps) > 0 {
			t.Lanes = append(t.Lanes, lane)
		}
	}
	return t
}

const (
	suffixMachine = "-vm"
	inTemplates   = "-template-"
)

// named returns the nodes with those of machines that only the run knows.
func named(nodes []string, s *artifacts.Summary) []string {
	nodes = slices.Clone(nodes)
	for _, r := range s.Resources {
		name, isMachine := strings.CutSuffix(r.Name, suffixMachine)
		if r.Type == token.VirtualMachine && isMachine && !strings.Contains(name, inTemplates) && !slices.Contains(nodes, name) {
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// laneOf returns the lane of a resource: that of the longest name of a node with which its own begins; empty for one that all share.
func laneOf(r artifacts.ResourceSummary, nodes []string) string {
	if strings.Contains(r.Name, inTemplates) {
		return laneTemplates
	}
	lane := ""
	for _, node := range nodes {
		if (r.Name == node || strings.HasPrefix(r.Name, node+"-")) && len(node) > len(lane) {
			lane = node
		}
	}
	return lane
}

func newLane(name string, s *artifacts.Summary, isIn func(artifacts.ResourceSummary) bool) Lane {
	lane := Lane{Name: name}
	var ends []float64 // of the rows, in percent
	first, last := -1.0, 0.0
	for _, r := range s.Resources {
		if !isIn(r) {
			continue
		}
		lane.Steps = append(lane.Steps, stepOf(r))
		if first < 0 {
			first = r.After
		}
		last = max(last, r.After+r.Seconds)
		bar := barOf(s, r)
		row := slices.IndexFunc(ends, func(end float64) bool { return end <= bar.Left })
		if row < 0 {
			row, ends, lane.Rows = len(ends), append(ends, 0), append(lane.Rows, nil)
		}
		lane.Rows[row] = append(lane.Rows[row], bar)
		ends[row] = bar.Left + bar.Width
	}
	lane.Took = last - max(first, 0)
	return lane
}

func phaseLane(s *artifacts.Summary, of phase.Phase) Lane {
	lane := newLane(of.String(), s, func(r artifacts.ResourceSummary) bool { return r.Phase == of })
	first, last := s.Seconds, 0.0
	for _, step := range lane.Steps {
		first, last = min(first, step.After), max(last, step.After+step.Seconds)
	}
	bar := Bar{Class: of.String(), Title: fmt.Sprintf("%s: %s, from %s on", of, spell(last-first), spell(first))}
	bar.Left, bar.Width = along(s, first, last-first)
	lane.Rows = [][]Bar{{bar}}
	return lane
}

func barOf(s *artifacts.Summary, r artifacts.ResourceSummary) Bar {
	bar := Bar{Class: r.Phase.String(), Title: fmt.Sprintf("%s %s: %s, from %s on", r.Operation, r.Name, spell(r.Seconds), spell(r.After))}
	if r.Outcome != "done" {
		bar.Class += " bad"
		bar.Title += ", " + r.Outcome
	}
	bar.Left, bar.Width = along(s, r.After, r.Seconds)
	return bar
}

// narrowest is the least width of a bar in percent, so that it can be seen.
const narrowest = 0.6

// along returns where an operation lies along a run, in percent.
func along(s *artifacts.Summary, after, seconds float64) (left, width float64) {
	whole := max(s.Seconds, 0.01)
	width = min(100, max(narrowest, 100*seconds/whole))
	return min(100*after/whole, 100-width), width
}

func stepOf(r artifacts.ResourceSummary) Step {
	step := Step{
		What: r.Name, Operation: string(r.Operation), Phase: r.Phase.String(), Outcome: r.Outcome, After: r.After, Seconds: r.Seconds,
	}
	if r.WaitedFor != nil {
		step.WaitedFor = r.WaitedFor.Name
	}
	return step
}

// ticks divides a run into four.
func ticks(seconds float64) []Tick {
	var marks []Tick
	for quarter := range 4 {
		marks = append(marks, Tick{Left: float64(quarter) * 25, Text: spell(seconds * float64(quarter) / 4)})
	}
	return marks
}

// longest follows what the last operation waited for.
func longest(s *artifacts.Summary) []Step {
	var last *artifacts.ResourceSummary
	for i := range s.Resources {
		if r := &s.Resources[i]; last == nil || r.After+r.Seconds > last.After+last.Seconds {
			last = r
		}
	}
	var steps []Step
	for last != nil {
		steps = append(steps, stepOf(*last))
		last = awaitedBy(s, *last)
	}
	slices.Reverse(steps)
	return steps
}

// awaitedBy returns the operation that another one waited for; nil if it waited for none. It ended before the other one began, so a chain
// of them ends.
func awaitedBy(s *artifacts.Summary, of artifacts.ResourceSummary) *artifacts.ResourceSummary {
	var found *artifacts.ResourceSummary
	for i := range s.Resources {
		r := &s.Resources[i]
		isBefore := r.After < of.After || r.After == of.After && r.Seconds < of.Seconds
		if of.WaitedFor != nil && r.Name == of.WaitedFor.Name && r.Type == of.WaitedFor.Type && isBefore {
			found = r
		}
	}
	return found
}
