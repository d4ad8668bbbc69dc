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
func mark(stack string) string { return "Made by em-infra for stack " + stack + ", before" }

// What stands between the mark and the changes: at first that the change has not succeeded, which a run replaces when it has. So the mark of a
// run that was killed stays.
const (
	unfinished = " a change that has not succeeded: "
	succeeded  = ": "
)

// Snapshot returns the snapshot that a run of a stack takes at a time.
func (w Wanted) Snapshot(stack string, at time.Time) pve.Snapshot {
	return pve.Snapshot{Name: at.UTC().Format(nameForm), Description: mark(stack) + unfinished + strings.Join(w.Changes, "; ")}
}

// own returns the snapshots that runs of the stack have taken and that are whole.
func own(stack string, taken []pve.Snapshot) []pve.Snapshot {
	var own []pve.Snapshot
	for _, one := range taken {
		after, found := strings.CutPrefix(one.Description, mark(stack))
		if found && one.Unfinished == "" && ownName.MatchString(one.Name) && (strings.HasPrefix(after, succeeded) || strings.HasPrefix(after, unfinished)) {
			own = append(own, one)
		}
	}
	return own
}

// standing returns the newest snapshot that runs of the stack have taken, if it is from before a change that has not succeeded; otherwise "".
func standing(stack string, taken []pve.Snapshot) string {
	all := own(stack, taken)
	if len(all) == 0 || !strings.HasPrefix(all[len(all)-1].Description, mark(stack)+unfinished) {
		return ""
	}
	return all[len(all)-1].Name
}

// Succeeded returns the snapshots of the stack that are marked as from before a change that has not succeeded, with the description that they
// have after it has.
func Succeeded(stack string, taken []pve.Snapshot) []pve.Snapshot {
	var now []pve.Snapshot
	for _, one := range own(stack, taken) {
		if changes, found := strings.CutPrefix(one.Description, mark(stack)+unfinished); found {
			now = append(now, pve.Snapshot{Name: one.Name, Description: mark(stack) + succeeded + strings.TrimSpace(changes), Taken: one.Taken})
		}
	}
	return now
}

// Superfluous returns the names of the oldest snapshots that runs of the stack have taken, beyond those that stay. Those of others are
// neither counted nor returned. The snapshots are sorted, the oldest first.
func Superfluous(stack string, keep int, taken []pve.Snapshot) []string {
	var names []string
	for _, one := range own(stack, taken) {
		names = append(names, one.Name)
	}
	return names[:max(len(names)-keep, 0)]
}

// broken returns a note about each incomplete snapshot of a guest.
func broken(system string, guest pve.Guest, taken []pve.Snapshot) []string {
	var notes []string
	for _, one := range taken {
		if one.Unfinished == "" {
			continue
		}
		command := fmt.Sprintf("`qm delsnapshot %d %s --force`", guest.VMID, one.Name)
		if guest.Type == pve.TypeContainer {
			command = fmt.Sprintf("`pct delsnapshot %d %s --force`", guest.VMID, one.Name)
		}
		notes = append(notes, fmt.Sprintf("snapshot %s of %s is incomplete (%s) and cannot be restored: if no task works on it, remove it with %s on %s",
			one.Name, system, one.Unfinished, command, guest.Node))
	}
	return notes
}

// Mend returns what to do about an error of taking the snapshot. No change of a locked guest is possible either, so the text is then about the
// lock.
func (w Wanted) Mend(err error) string {
	if !pve.IsLocked(err) {
		return fmt.Sprintf("mend that, or set snapshots: {keep: 0} for %s", w.System)
	}
	command := fmt.Sprintf("`qm unlock %d`", w.Guest.VMID)
	if w.Guest.Type == pve.TypeContainer {
		command = fmt.Sprintf("`pct unlock %d`", w.Guest.VMID)
	}
	tasks := fmt.Sprintf("`pvesh get /nodes/%s/tasks --source active`", w.Guest.Node)
	return fmt.Sprintf("wait for the end of its task (%s), or if there is none, run %s on %s", tasks, command, w.Guest.Node)
}

// WayBack returns the command that rolls the system back to one of its snapshots, and where to run it.
func (w Wanted) WayBack(name string) string {
	command := fmt.Sprintf("`qm rollback %d %s`", w.Guest.VMID, name)
	if w.Guest.Type == pve.TypeContainer {
		command = fmt.Sprintf("`pct rollback %d %s`", w.Guest.VMID, name)
	}
	return command + " on " + w.Guest.Node
}
