package recovery

import (
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// Past is an earlier state of the stack.
type Past struct {
	// Name of the backup that holds it.
	Name       string
	Deployment apitype.DeploymentV3
}

// witnesses are all that can know whether a machine was ever used. A machine that failed to be made and one that ran for
// months and failed to be changed look alike in the state, by their init errors, and on the host, which is off in both cases
// and forgets starts (decision 10). So a machine is taken for one that never ran only where none of them says otherwise.
type witnesses struct {
	deployment *apitype.DeploymentV3
	past       []Past
}

// use says by what it is known that a machine was used; "" when nobody knows of any use. The machine is in the state, with
// init errors; or unfinished, when the state knows of its creation only.
func (w witnesses) use(machine apitype.ResourceV3, unfinished bool, found *pve.Machine) string {
	switch {
	case found.Ran != "":
		return found.Ran
	case found.Empty:
		return "" // whatever it was to be, there is nothing in it
	case !unfinished && !isSameTime(machine.Created, machine.Modified):
		return "it was changed after it had been made"
	}
	if name := w.memberOf(machine.URN); name != "" && !w.isAnother(machine.URN, found) {
		return name + " in the state was applied to it"
	}
	return w.wholeIn(machine, unfinished, found.Birth)
}

// memberOf is the name of the configuration or membership of a machine in the state; "" for none. One that waits for its
// replacement is that of a machine which the engine has deleted.
func (w witnesses) memberOf(machine resource.URN) string {
	node := strings.TrimSuffix(machine.Name(), vmSuffix)
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

// wholeIn names the newest earlier state in which the machine was whole; "" for none. The time of its creation tells a
// machine from one that had its place before. Of one whose creation was cut off there is no such time: there every earlier
// machine counts, unless the engine has noted that it deleted it. One that was made later counts, too: a copy of the state was
// put back since. One with another mark of birth than that on the host does not speak of it.
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

// isReplaced says that the state holds a machine which the engine has deleted to make it anew.
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
