package rotation

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

// Note is what a rotation keeps in the state from its beginning to its end, sealed as all secrets of the state. So it is available on every machine
// on which the rotation goes on, and it changes together with the state.
//
// It is a protected resource that no program has: the engine refuses to delete it, and so it refuses a plain `pulumi up` in the middle of a
// rotation.
type Note struct {
	// What is rotated, as on the command line, e.g. talos-ca.
	What string `json:"what"`
	// Begun is when.
	Begun time.Time `json:"begun"`
	// Done is the number of steps that are done.
	Done int `json:"done"`
	// Replacements are the new secrets and the old ones.
	Replacements Replacements `json:"replacements"`
}

const (
	noteType     = "em-infra:index:Rotation"
	noteName     = "rotate-"
	noteProperty = "note"
)

// ErrNote means that a note cannot be read. It wraps no cause, which could quote a secret.
var ErrNote = errors.New("the note of a rotation in the state cannot be read: restore the state from a backup")

// Begun returns what is being rotated, in a deployment with or without its secrets; empty for no rotation.
func Begun(deployment apitype.DeploymentV3) string {
	if at := indexOfNote(deployment); at >= 0 {
		return deployment.Resources[at].URN.Name()[len(noteName):]
	}
	return ""
}

// NoteIn returns the note in a deployment with its secrets in clear text; nil for none. The error is [ErrNote].
func NoteIn(deployment apitype.DeploymentV3) (*Note, error) {
	at := indexOfNote(deployment)
	if at < 0 {
		return nil, nil
	}
	text, isText, err := propertymap.PlainText(deployment.Resources[at].Outputs, noteProperty)
	note := &Note{}
	if err != nil || !isText || json.Unmarshal([]byte(text), note) != nil {
		return nil, ErrNote
	}
	return note, nil
}

// In writes the note into a deployment, in the place of the one from before. The deployment contains the stack's own resource.
func (n Note) In(deployment *apitype.DeploymentV3) error {
	if err := n.Replacements.check(); err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	sealed, err := propertymap.Seal(string(text))
	if err != nil {
		return err
	}
	Remove(deployment)
	root := slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == resource.RootStackType })
	if root < 0 {
		return ErrNote
	}
	stack := deployment.Resources[root].URN
	deployment.Resources = append(deployment.Resources, apitype.ResourceV3{
		URN: resource.NewURN(stack.Stack(), stack.Project(), "", noteType, noteName+n.What), Type: noteType, Parent: stack,
		Protect: true, Inputs: map[string]any{}, Outputs: map[string]any{noteProperty: sealed},
	})
	return nil
}

// Remove removes the note from a deployment, if there is one.
func Remove(deployment *apitype.DeploymentV3) {
	deployment.Resources = slices.DeleteFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == noteType })
}

func indexOfNote(deployment apitype.DeploymentV3) int {
	return slices.IndexFunc(deployment.Resources, func(r apitype.ResourceV3) bool { return r.Type == noteType })
}
