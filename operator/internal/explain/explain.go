// Package explain explains the raw errors of Proxmox VE, the providers, Talos, Kubernetes and the engine: what they mean, what to
// do, and whether that is safe. Its table is data: one row for each known error.
package explain

import (
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/remedy"
)

// Explanation is what is known about an error.
type Explanation struct {
	// Name of the row, the same in every version.
	Name string `json:"name"`
	// Subject is the resource that the engine reported the error of, empty when the text does not say.
	Subject string `json:"subject,omitempty"`
	// Speaker is the program that reported it: Proxmox, Talos, Kubernetes, the engine and so on.
	Speaker string `json:"speaker"`
	// Said is the error itself, without the text around it.
	Said string `json:"said"`
	// Meaning is what has happened.
	Meaning string `json:"meaning"`
	// Do is what mends it.
	Do string `json:"do"`
	// Safe states whether it is safe to go on; it begins with yes or no.
	Safe string `json:"safe"`
	// Commands are those in Do and Safe, in their order.
	Commands []string `json:"commands"`
	// Failure is its number in docs/failures.md, empty for one that has none. It is not printed: the number means nothing to users.
	Failure string `json:"-"`
	// Source is where the text of the error comes from: a source file of the program, or a report.
	Source string `json:"source"`

	do, safe string // with failedVerb
}

// For returns the explanation for a user who has run that command of em-infra: up, destroy and so on.
func (e Explanation) For(verb string) Explanation {
	return e.advise(strings.ReplaceAll(e.do, failedVerb, verb), strings.ReplaceAll(e.safe, failedVerb, verb))
}

// At returns the explanation with its commands completed for a place.
func (e Explanation) At(place remedy.Place) Explanation {
	return e.advise(place.Complete(e.Do), place.Complete(e.Safe))
}

func (e Explanation) advise(do, safe string) Explanation {
	e.Do, e.Safe = do, safe
	e.Commands = append([]string{}, remedy.Commands(do+" "+safe)...)
	return e
}

// row is a known error.
type row struct {
	name, speaker, failure, source string
	// pattern matches the error; its named groups replace the names in braces in the texts below.
	pattern           func() *regexp.Regexp
	meaning, do, safe string
}

// Text explains every known error in a text, each once, in the order of the text. If several rows match a line, the first in the
// table counts.
func Text(raw string) []Explanation {
	var found []Explanation
	places := map[string]int{} // indices of found by name and text
	subject := ""
	for line := range strings.Lines(raw) {
		if name := heading.FindStringSubmatch(line); name != nil {
			subject = name[1]
			continue
		}
		explanation, known := explainLine(line)
		if !known {
			continue
		}
		place, seen := places[explanation.Name+explanation.Said]
		switch {
		case !seen:
			explanation.Subject = subject
			places[explanation.Name+explanation.Said] = len(found)
			found = append(found, explanation)
		case found[place].Subject == "": // the engine reports it during the run, and again under the resource's name
			found[place].Subject = subject
		}
	}
	return found
}

// heading matches the engine's heading of the lines about a resource: its type and, in parentheses, its name (pulumi pkg/v3
// v3.254.0, backend/display/progress.go, printDiagnostics).
var heading = regexp.MustCompile(`^ {2}[a-zA-Z][\w-]*:[\w./-]*:[\w./-]+ \(([^)]+)\):\s*$`)

// ofTrueNAS matches the errors of em-infra's own client of TrueNAS (internal/truenas, Error). They say themselves what to do, and what a row
// knows of the same words is about a host.
var ofTrueNAS = regexp.MustCompile(`\bTrueNAS, [a-z_]+(?:\.[a-z_]+)+: `)

func explainLine(line string) (Explanation, bool) {
	if ofTrueNAS.MatchString(line) {
		return Explanation{}, false
	}
	for _, r := range table {
		if match := r.pattern().FindStringSubmatch(line); match != nil {
			return r.explain(match), true
		}
	}
	return Explanation{}, false
}

func (r row) explain(match []string) Explanation {
	var pairs []string
	for i, name := range r.pattern().SubexpNames() {
		if name != "" {
			pairs = append(pairs, "{"+name+"}", match[i])
		}
	}
	fill := strings.NewReplacer(pairs...)
	e := Explanation{
		Name: r.name, Speaker: r.speaker, Failure: r.failure, Source: r.source, Said: strings.TrimSpace(match[0]),
		Meaning: fill.Replace(r.meaning), do: fill.Replace(r.do), safe: fill.Replace(r.safe),
	}
	return e.For(anyVerb)
}

// anyVerb is the command in an explanation if none is given.
const anyVerb = "up"
