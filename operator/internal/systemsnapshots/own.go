package systemsnapshots

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/pve"
)

// nameForm is the form of the names of the snapshots that runs take: the time in UTC.
const nameForm = "em-infra-20060102-150405"

var ownName = regexp.MustCompile(`^em-infra-\d{8}-\d{6}$`)

// mark begins the description of the snapshots that runs of a stack take.
func mark(stack string) string { return "Made by em-infra for stack " + stack + ", before: " }

// Snapshot returns the snapshot that a run of a stack takes at a time.
func (w Wanted) Snapshot(stack string, at time.Time) pve.Snapshot {
	return pve.Snapshot{Name: at.UTC().Format(nameForm), Description: mark(stack) + strings.Join(w.Changes, "; ")}
}

// Superfluous returns the names of the oldest snapshots that runs of the stack have taken, beyond those that stay. Those of others are
// neither counted nor returned. The snapshots are sorted, the oldest first.
func (w Wanted) Superfluous(stack string, taken []pve.Snapshot) []string {
	var own []string
	for _, one := range taken {
		if ownName.MatchString(one.Name) && strings.HasPrefix(one.Description, mark(stack)) {
			own = append(own, one.Name)
		}
	}
	return own[:max(len(own)-w.Keep, 0)]
}

// WayBack returns the command that rolls the system back to one of its snapshots, and where to run it.
func (w Wanted) WayBack(name string) string {
	command := fmt.Sprintf("`qm rollback %d %s`", w.Guest.VMID, name)
	if w.Guest.Type == pve.TypeContainer {
		command = fmt.Sprintf("`pct rollback %d %s`", w.Guest.VMID, name)
	}
	return command + " on " + w.Guest.Node
}
