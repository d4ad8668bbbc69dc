package recovery

import (
	"slices"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
)

// Past is an earlier state of the stack.
type Past struct {
	// Name is the name of its backup.
	Name       string
	Deployment apitype.DeploymentV3
}

// PastOwners returns a stack's owners in the machine descriptions of earlier states, newest first.
func PastOwners(stack string, past []Past) []ownership.Owner {
	var owners []ownership.Owner
	for _, one := range past {
		for _, owner := range state.Owners(one.Deployment) {
			if owner.Stack == stack && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	return owners
}

// witnesses are the sources that can show whether a machine was ever used. A machine whose creation failed, and a machine that ran
// for months and whose change failed, look the same in the state, by their init errors, and on the host, which does not record
// starts and has both off (decision 10). So a machine counts as never run only if no source says otherwise.
type witnesses struct {
	deployment *apitype.DeploymentV3
	past       []Past
}

// use returns the evidence that a machine was used; "" if there is none. The machine is in the state, with init errors; with
// unfinished, the state contains only its pending creation.
func (w witnesses) use(machine apitype.ResourceV3, unfinished bool, found *pve.Machine) string {
	switch {
	case found.Ran != "":
		return found.Ran
	case found.Empty:
		return "" // there is nothing in it, regardless of what it was to be
	case !unfinished && !isSameTime(machine.Created, machine.Modified):
		return "it was changed after it had been made"
	}
	if name := w.memberOf(machine.URN); name != "" && !w.isAnother(machine.URN, found) {
		return name + " in the state was applied to it"
	}
	return w.wholeIn(machine, unfinished, found.Birth)
}

// memberOf returns the name of a machine's configuration or membership in the state; "" if there is none. A resource that waits for
// its replacement belongs to a machine that the engine has deleted, and does not count.
func (w witnesses) memberOf(machine resource.URN) string {
	node := strings.TrimSuffix(machine.Name(), state.SuffixMachine)
	for _, r := range w.deployment.Resources {
		switch {
		case r.Delete || r.PendingReplacement:
		case r.Type == token.Configuration && (r.DeletedWith == machine || r.URN.Name() == node+"-configuration"),
			r.Type == token.Command && r.URN.Name() == node+"-membership":
			return r.URN.Name()
		}
	}
	return ""
}

// wholeIn names the newest earlier state in which the machine was complete; "" if there is none. The creation time distinguishes a
// machine from its predecessor. An interrupted creation has no such time: then every earlier machine counts, unless the engine has
// recorded its deletion. A machine that was created later counts, too, because an older state was restored since. A machine with
// another birth identifier than the one on the host does not count.
func (w witnesses) wholeIn(machine apitype.ResourceV3, unfinished bool, birth string) string {
	if unfinished && w.isReplaced(machine.URN) {
		return ""
	}
	for _, past := range w.past {
		for _, r := range past.Deployment.Resources {
			if r.URN != machine.URN || r.Delete || r.PendingReplacement || len(r.InitErrors) > 0 || differ(birthOf(r), birth) {
				continue
			}
			if machine.Created == nil || r.Created == nil || !r.Created.Before(*machine.Created) {
				return "it was whole in the state of the backup " + past.Name
			}
		}
	}
	return ""
}

// isReplaced reports whether the state contains a machine that the engine has deleted in order to replace it.
func (w witnesses) isReplaced(machine resource.URN) bool {
	for _, r := range w.deployment.Resources {
		if r.URN == machine && r.PendingReplacement {
			return true
		}
	}
	return false
}

func isSameTime(a, b *time.Time) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
