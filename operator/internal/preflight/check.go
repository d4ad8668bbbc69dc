package preflight

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
)

// Result is the result of a check.
type Result string

// Values of Result.
const (
	OK   Result = "ok"
	Warn Result = "warn"
	Fail Result = "fail"
)

// Check is a named condition and its result.
type Check struct {
	// Name of the condition, the same in every run: storage, vmid and so on.
	Name string `json:"name"`
	// Result is ok, warn or fail.
	Result Result `json:"result"`
	// Sentence describes what was found.
	Sentence string `json:"sentence"`
	// Remedy is what to do; for a GPU that is free, the line of nodes.yaml that takes it. Empty when nothing is to be done.
	Remedy string `json:"remedy,omitempty"`
	// MadeBy are the flags that select the stack which makes what is missing; empty if none does.
	MadeBy string `json:"madeBy,omitempty"`
	// Commands are what to type on the host, in order, as root in a shell, where no API can do it. Lines with # say what no command does.
	// None if nothing is to be typed.
	Commands []string `json:"commands,omitempty"`
}

// Report contains all checks in a fixed order.
type Report []Check

// ByHand returns the checks whose findings a person has to resolve on a host.
func (r Report) ByHand() Report {
	return slices.DeleteFunc(slices.Clone(r), func(check Check) bool { return len(check.Commands) == 0 })
}

// Count returns the number of checks with a result.
func (r Report) Count(result Result) int {
	count := 0
	for _, check := range r {
		if check.Result == result {
			count++
		}
	}
	return count
}

// Unsound returns the checks whose result is not ok.
func (r Report) Unsound() Report {
	return slices.DeleteFunc(slices.Clone(r), func(check Check) bool { return check.Result == OK })
}

// Summary returns the numbers of results in one line.
func (r Report) Summary() string {
	summary := fmt.Sprintf("%s: %d ok", counted(len(r), "check"), r.Count(OK))
	if warnings := r.Count(Warn); warnings > 0 {
		summary += ", " + counted(warnings, "warning")
	}
	if failures := r.Count(Fail); failures > 0 {
		summary += ", " + counted(failures, "failure")
	}
	return summary
}

func counted(count int, noun string) string {
	switch {
	case count == 1:
	case strings.HasSuffix(noun, "s"):
		noun += "es"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", count, noun)
}

// collector collects the checks of the rules.
type collector struct{ checks Report }

func (s *collector) ok(name, format string, args ...any) {
	s.add(Check{Name: name, Result: OK, Sentence: fmt.Sprintf(format, args...)})
}

func (s *collector) warn(name, remedy, format string, args ...any) {
	s.add(Check{Name: name, Result: Warn, Sentence: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (s *collector) fail(name, remedy, format string, args ...any) {
	s.add(Check{Name: name, Result: Fail, Sentence: fmt.Sprintf(format, args...), Remedy: remedy})
}

// lacks adds a finding about something that a stack of hosts may make.
func (s *collector) lacks(name string, what action, format string, args ...any) {
	s.add(Check{Name: name, Result: Fail, Sentence: fmt.Sprintf(format, args...), Remedy: what.do, MadeBy: what.madeBy})
}

// add adds a finding once, even if several parts of the inventory cause it.
func (s *collector) add(check Check) {
	isSame := func(other Check) bool { return reflect.DeepEqual(check, other) }
	if !slices.ContainsFunc(s.checks, isSame) {
		s.checks = append(s.checks, check)
	}
}

// refused adds a failure with the remedy of the error.
func (s *collector) refused(name string, err error) {
	what, do := remedy.Split(err)
	s.fail(name, onOneLine(do), "%s", onOneLine(what))
}

// unread adds a finding about something that could not be read.
func (s *collector) unread(name, what string, err error) {
	s.fail(name, "see that the host answers and that the token has the role that `em-infra role` prints",
		"%s cannot be read (%s)", what, err)
}

// soften makes warnings of the failures since mark, which is a length of checks.
func (s *collector) soften(mark int) {
	for at := range s.checks[mark:] {
		if check := &s.checks[mark+at]; check.Result == Fail {
			check.Result = Warn
		}
	}
}

// sound reports whether only ok was added since mark, which is a length of checks.
func (s *collector) sound(mark int) bool { return len(s.checks[mark:].Unsound()) == 0 }
