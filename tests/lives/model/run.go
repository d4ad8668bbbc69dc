package model

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Run is a command and its effects.
type Run struct {
	// What was run, as in a history.
	What   string
	Code   int
	Output string
	// Writes are the calls by which it may have changed the host or the NAS.
	Writes []string
	Took   time.Duration
	// Killed is true if it was killed or interrupted.
	Killed bool
	// Excused is true if a fault, a kill, or leftovers of an earlier run disturbed it.
	Excused bool
}

// Exit codes.
const (
	done    = 0
	changes = 2
	// Refused is that of a refusal.
	Refused = 3
)

// Bound is the maximal duration of a run. It is below all limits of em-infra's own waits, of which the shortest is ten minutes:
// what disturbs a life is over at once, so a run that reaches such a limit waits for something that never comes.
const Bound = 9 * time.Minute

// reads are runs that change nothing.
var reads = []string{"preview", "status", "drift", "only-verify"}

// reading are all runs that leave the host as it is.
var reading = append(slices.Clone(reads), "snapshot-etcd", "adopt")

// saysWhatToDo matches the end of a failure that names a remedy: a command, or what to change.
var saysWhatToDo = regexp.MustCompile("`[a-z][^`]+`|\\b(run|say|set|put|restore|give|write|mend|wait|check|look|choose|delete|remove|try|make|repair)\\b [a-z-]+")

// Judge returns the violations of a run.
func Judge(r Run) []Violation {
	refusals, bounds := &broken{invariant: Refusals}, &broken{invariant: Bounds}
	if r.Took > Bound {
		bounds.say("%s took %s", r.What, r.Took.Round(time.Second))
	}
	verb := verbOf(r.What)
	switch {
	case strings.Contains(r.Output, "goroutine ") || strings.Contains(r.Output, "panic:"):
		refusals.say("%s panicked:\n%s", r.What, r.Output)
	case slices.Contains(reading, verb) && len(r.Writes) > 0:
		refusals.say("%s only reads, and called %s", r.What, strings.Join(r.Writes, ", "))
	case r.Killed:
	case r.Code == Refused && len(r.Writes) > 0 && !r.hasCarriedOut():
		refusals.say("%s was refused, and called %s:\n%s", r.What, strings.Join(r.Writes, ", "), r.Output)
	case r.Code < 0 || r.Code > Refused:
		refusals.say("%s ended with exit code %d:\n%s", r.What, r.Code, r.Output)
	case (r.Code == done || r.Code == changes) && r.What != "mistake":
	case r.What == "mistake" && r.Code != Refused:
		refusals.say("a mistake was not refused, but ended with exit code %d:\n%s", r.Code, r.Output)
	case r.What == "mistake":
	case !saysWhatToDo.MatchString(r.Output):
		refusals.say("%s failed and does not say what to do:\n%s", r.What, r.Output)
	case !r.Excused && !slices.Contains(reads, verb):
		refusals.say("%s failed with exit code %d, and nothing was in its way:\n%s", r.What, r.Code, r.Output)
	}
	return slices.Concat(refusals.found, bounds.found)
}

// stackIsDone matches the line of a stack in the table that ends a run of the whole site.
var stackIsDone = regexp.MustCompile(`(?m)^\S+ +(?:hosts|systems|platform) +(?:up|gone)$`)

// hasCarriedOut reports whether a run of the whole site has carried out the plan of a stack before the one that was refused.
func (r Run) hasCarriedOut() bool { return ofWholeSite(r.What) && stackIsDone.MatchString(r.Output) }

// Outage is the time in which a node was taken down. One that has not ended has no To.
type Outage struct {
	VMID     int
	From, To time.Time
}

// Overlap returns the times in which two control planes were down.
func Overlap(controlPlanes []int, outages []Outage) []Violation {
	b := &broken{invariant: OneAtATime}
	for i, one := range outages {
		for _, other := range outages[:i] {
			if one.VMID == other.VMID || !slices.Contains(controlPlanes, one.VMID) || !slices.Contains(controlPlanes, other.VMID) {
				continue
			}
			if other.To.IsZero() || one.From.Before(other.To) {
				b.say("VM %d went down at %s while VM %d was down since %s", one.VMID, one.From.Format(time.StampMilli), other.VMID, other.From.Format(time.StampMilli))
			}
		}
	}
	return b.found
}

// verbOf returns what is run of a stack of a layer, or of the whole site: hosts-preview is a preview.
func verbOf(what string) string {
	for _, layer := range []string{"hosts-", "systems-", "site-"} {
		if verb, found := strings.CutPrefix(what, layer); found {
			return verb
		}
	}
	return what
}
