package inventory

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/inventory/manifest"
)

// OtherKindError means that the inventory in a folder is that of a stack other than a cluster.
type OtherKindError struct {
	// Dir is the folder.
	Dir string
	// Kind is the kind of its stack.
	Kind manifest.Kind
}

// Error returns the sentence for a command that works on a cluster.
func (e *OtherKindError) Error() string {
	return fmt.Sprintf("%s holds %s, which describes %s, and this command works on a cluster: name the stack of a cluster (%s and %s)",
		e.Dir, e.Kind.Files()[0], e.Kind.About(), ClusterFile, NodesFile)
}

// checkKind refuses a folder with the inventory of another kind of stack, or of two kinds.
func checkKind(dir string) error {
	kind, err := manifest.KindOf(dir)
	if err == nil && kind != manifest.Platform {
		err = &OtherKindError{Dir: or(dir, "the folder"), Kind: kind}
	}
	return err
}
