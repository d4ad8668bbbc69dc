// Package operation has the terms in which the provider speaks with what serves a family of resource types.
//
// They are those of Pulumi's provider protocol (pulumirpc.ResourceProviderServer) with typed properties: unknown values
// and secrets are kept, nulls too.
package operation

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// Server serves a family of resource types. The error of Create, Update and Read is a *NotReadyError when the resource
// exists, but is not what was asked for; of Create and Update, it has the state to keep.
type Server interface {
	Check(context.Context, Check) (Checked, error)
	Diff(context.Context, Diff) (Difference, error)
	Create(context.Context, Create) (Live, error)
	Read(context.Context, Read) (Live, error) // the ID is empty when the resource is gone
	Update(context.Context, Update) (Live, error)
	Delete(context.Context, Delete) error
}

// Check asks whether inputs are valid, and for the inputs with all that is filled in.
type Check struct {
	URN      resource.URN
	Old, New resource.PropertyMap // Old is what the last Check returned, empty for a new resource
	Naming   Naming
}

// Naming says how a resource gets the name that its inputs lack.
type Naming struct {
	Seed     []byte // what a random name is made from; nil for any
	Proposed string // the name that the engine wants; empty for a random one
	Disabled bool   // a name must be given
}

// Checked is the answer to Check.
type Checked struct {
	Inputs   resource.PropertyMap
	Failures []Failure
}

// Failure is a property that cannot stay as it is.
type Failure struct {
	Property string
	Reason   string
}

// Diff asks what a change of inputs does.
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

// ChangeKind says how a property changes.
type ChangeKind int

// The kinds of changes.
const (
	Added ChangeKind = iota
	Updated
	Deleted
)

// Create asks for a resource. In a preview nothing is kept.
type Create struct {
	URN     resource.URN
	Inputs  resource.PropertyMap
	Seconds float64 // the program's customTimeouts; 0 for the default
	Preview bool
}

// Read asks for what is there. Without State it is an import, and ID is all that is known.
type Read struct {
	URN           resource.URN
	ID            string
	State, Inputs resource.PropertyMap
}

// Update asks for other inputs. In a preview nothing is kept.
type Update struct {
	URN           resource.URN
	State, Inputs resource.PropertyMap
	Seconds       float64
	Preview       bool
}

// Delete asks for a resource to go.
type Delete struct {
	URN     resource.URN
	ID      string
	State   resource.PropertyMap
	Seconds float64
}

// Live is a resource as it is. Create and Update leave Inputs empty.
type Live struct {
	ID            string
	State, Inputs resource.PropertyMap
}

// NotReadyError says that a resource exists and why it is not ready. The engine keeps its state and marks it, and the
// next run updates it.
type NotReadyError struct {
	Live    Live
	Err     error
	Reasons []string // what else is known, each a line for the user
}

func (e *NotReadyError) Error() string { return e.Err.Error() }
func (e *NotReadyError) Unwrap() error { return e.Err }

// Log tells the user something about a resource; Status is shown while it is the latest.
type Log interface {
	Log(ctx context.Context, severity diag.Severity, urn resource.URN, message string)
	Status(ctx context.Context, severity diag.Severity, urn resource.URN, message string)
}
