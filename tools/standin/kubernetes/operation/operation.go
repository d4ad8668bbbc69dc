// Package operation contains the requests and answers between the provider and the servers of its resource types.
//
// They are those of Pulumi's provider protocol (pulumirpc.ResourceProviderServer), with typed properties. Unknown values, secrets
// and nulls are kept.
package operation

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Server serves a family of resource types. The error of Create, Update and Read is a *NotReadyError if the resource exists, but is
// not as requested. For Create and Update that error contains the state to keep.
type Server interface {
	Check(context.Context, Check) (Checked, error)
	Diff(context.Context, Diff) (Difference, error)
	Create(context.Context, Create) (Live, error)
	Read(context.Context, Read) (Live, error) // the ID is empty if the resource is gone
	Update(context.Context, Update) (Live, error)
	Delete(context.Context, Delete) error
}

// Check requests a check of inputs, and the inputs with all defaults.
type Check struct {
	URN      resource.URN
	Old, New resource.PropertyMap // Old is what the last Check returned, empty for a new resource
	Naming   Naming
}

// Naming describes how a resource gets a name if its inputs have none.
type Naming struct {
	Seed     []byte // of a random name; nil for any
	Proposed string // the name that the engine wants; empty for a random one
	Disabled bool   // the inputs must have a name
}

// Checked is the answer to Check.
type Checked struct {
	Inputs   resource.PropertyMap
	Failures []Failure
}

// Failure is an invalid property.
type Failure struct {
	Property string
	Reason   string
}

// Diff requests the effects of a change of inputs.
type Diff struct {
	URN           resource.URN
	State, Inputs resource.PropertyMap
	Ignored       []resource.PropertyPath // the program's ignoreChanges
}

// Difference is the answer to Diff.
type Difference struct {
	Changes             []Change
	DeleteBeforeReplace bool
}

// Change is a property that changes.
type Change struct {
	Path     resource.PropertyPath
	Kind     ChangeKind
	Replaces bool
}

// ChangeKind is the kind of a change of a property.
type ChangeKind int

// The kinds of changes.
const (
	Added ChangeKind = iota
	Updated
	Deleted
)

// Create requests a new resource. A preview creates nothing.
type Create struct {
	URN     resource.URN
	Inputs  resource.PropertyMap
	Seconds float64 // the program's customTimeouts; 0 for the default
	Preview bool
}

// Read requests the current state of a resource. Without State it is an import, and only ID is known.
type Read struct {
	URN           resource.URN
	ID            string
	State, Inputs resource.PropertyMap
}

// Update requests other inputs of a resource. A preview changes nothing.
type Update struct {
	URN           resource.URN
	State, Inputs resource.PropertyMap
	Seconds       float64
	Preview       bool
}

// Delete requests the deletion of a resource.
type Delete struct {
	URN     resource.URN
	ID      string
	State   resource.PropertyMap
	Seconds float64
}

// Live is the current state of a resource. Create and Update leave Inputs empty.
type Live struct {
	ID            string
	State, Inputs resource.PropertyMap
}

// NotReadyError means that a resource exists, but is not ready. The engine keeps the state and marks it, and the next run updates
// the resource.
type NotReadyError struct {
	Live    Live
	Err     error
	Reasons []string // more details, one line each for the user
}

func (e *NotReadyError) Error() string { return e.Err.Error() }
func (e *NotReadyError) Unwrap() error { return e.Err }

// Log shows the user a message about a resource. Status shows it until the next message.
type Log interface {
	Log(ctx context.Context, severity diag.Severity, urn resource.URN, message string)
	Status(ctx context.Context, severity diag.Severity, urn resource.URN, message string)
}
