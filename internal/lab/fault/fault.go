// Package fault keeps the faults that are set in a lab, and decides on which occasion one occurs. The emulations implement
// the effects.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// ErrFault is wrapped by every error for an invalid Fault.
var ErrFault = errors.New("fault")

// Kind is a fault that can be set.
type Kind struct {
	// Name of the kind, by which a fault is set.
	Name string `json:"name"`
	// About is what happens, in one line.
	About string `json:"about"`
	// Source is where it was observed: the page docs/failures.md, or the file of Proxmox VE or Talos that causes it.
	Source string `json:"source"`
	// Once reports whether it occurs one time unless the fault sets a number.
	Once bool `json:"once,omitempty"`
	// Calls reports whether it occurs at calls, so that it can be limited to an endpoint.
	Calls bool `json:"calls,omitempty"`
}

// failureNumber matches a number of docs/failures.md.
var failureNumber = regexp.MustCompile(`^F\d+$`)

// ForUsers returns the kind as users read it. A source that is a number of docs/failures.md, as in the tables of the lab, becomes the name
// of that page.
func (k Kind) ForUsers() Kind {
	k.Source = failureNumber.ReplaceAllString(k.Source, "docs/failures.md")
	return k
}

// Fault is a request for a fault.
type Fault struct {
	// Name is the name of a kind.
	Name string `json:"name"`
	// Node limits it to a host.
	Node string `json:"node,omitempty"`
	// VMID limits it to a VM.
	VMID int `json:"vmid,omitempty"`
	// Endpoint limits it to a method: the template of a path of Proxmox VE's API, or the full name of a gRPC method of Talos.
	Endpoint string `json:"endpoint,omitempty"`
	// Nth is the only occasion that fails, counted from 1; with Times or a probability, the first one. 0 is no limit.
	Nth int `json:"nth,omitempty"`
	// Times is how many occasions fail. 0 is one for a kind that occurs once, and for an Nth without a probability; else all until it is cleared.
	Times int `json:"times,omitempty"`
	// Probability is the share of occasions that fail, above 0 and up to 1; 0 is all of them.
	Probability float64 `json:"probability,omitempty"`
}

// State is a fault that is set, with its counters.
type State struct {
	Fault
	// Seen is the number of occasions to which it applies.
	Seen int `json:"seen"`
	// Occurred is the number of those that failed.
	Occurred int `json:"occurred"`
}

// Occasion is what a fault is compared with. Fields that do not apply are zero.
type Occasion struct {
	// Node is the host of the occasion.
	Node string
	// VMIDs are the VMs that the occasion concerns.
	VMIDs []int
	// Endpoint is the method that is called.
	Endpoint string
}

// settle fills in the defaults of the fault's kind. It returns an error for an invalid fault.
func (f Fault) settle(kinds []Kind) (Fault, error) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == f.Name })
	switch {
	case i < 0:
		return f, unknown(f.Name, kinds)
	case f.Nth < 0:
		return f, fmt.Errorf("%w: occasion %d was never: count from 1", ErrFault, f.Nth)
	case f.Times < 0:
		return f, fmt.Errorf("%w: %d times is no number of times: choose 1 or more, or 0 for all", ErrFault, f.Times)
	case f.Probability < 0 || f.Probability > 1:
		return f, fmt.Errorf("%w: probability %v is out of range: choose one above 0, up to 1", ErrFault, f.Probability)
	case f.Endpoint != "" && !kinds[i].Calls:
		return f, fmt.Errorf("%w: %s occurs in the work behind a call, not at one: leave the endpoint out", ErrFault, f.Name)
	}
	if f.Times == 0 && (kinds[i].Once || f.Nth > 0 && f.Probability == 0) {
		f.Times = 1
	}
	return f, nil
}

func unknown(name string, kinds []Kind) error {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	do := "`em-infra lab fault list` shows those there are"
	if near := strictyaml.Nearest(name, names); near != "" {
		do = "did you mean " + near + "?"
	}
	return fmt.Errorf("%w: there is no %q: %s", ErrFault, name, do)
}

// matches reports whether the fault applies to an occasion.
func (f Fault) matches(o Occasion) bool {
	return (f.VMID == 0 || slices.Contains(o.VMIDs, f.VMID)) && cmp.Or(f.Node, o.Node) == o.Node &&
		cmp.Or(f.Endpoint, o.Endpoint) == o.Endpoint
}
