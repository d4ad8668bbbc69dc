package recovery

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// Remnant is a machine that a failed or killed run has left on the host, half made or half changed.
type Remnant struct {
	// URN of the machine in the state.
	URN resource.URN
	// VMID, Node that it stands on, and the Name that it was to have.
	VMID int
	Node string
	Name string
	// Idle says that it is off and ought to be on.
	Idle bool
	// Joined says that the state has a configuration of it: once it is on, its Talos answers.
	Joined bool
	// Unanswered says that the state does not know it, because nobody has told the run that made it that it was made: it is taken
	// into the state.
	Unanswered bool

	birth string
	runs  bool
}

// Survey is what failed and killed runs have left. Making it changes nothing, neither the host nor the state.
type Survey struct {
	// NeverRan are machines of which nobody knows that they ever ran. [Delete] takes one away, once somebody has agreed.
	NeverRan []Remnant
	// Used are machines that were in use when a change of them failed. They are kept, started and looked at anew.
	Used []Remnant
	// Unanswered are machines that run, or ran, and of which the state knows at most that their creation was begun. They are
	// taken into the state.
	Unanswered []Remnant

	ended []resource.URN       // machines in the state that are not on the host
	begun []apitype.ResourceV3 // machines of NeverRan that are not in the state
	lost  []unanswered         // machines of Unanswered
	notes []string
}

// Evidence is where a survey looks for what became of machines, besides the state.
type Evidence struct {
	// Host on which they stand.
	Host Host
	// Past are the earlier states, newest first. It is asked only when something hangs on it.
	Past func() ([]Past, error)
}

// LookAtUnfinished asks what became of the operations that were begun and never finished. The error says what has to be
// settled by hand.
func LookAtUnfinished(ctx context.Context, deployment *apitype.DeploymentV3, evidence Evidence) (Survey, error) {
	l := looking{deployment: deployment, Evidence: evidence}
	err := l.atUnfinished(ctx)
	return l.found, err
}

// LookAtFailed asks what became of the machines on which the last operation failed half way. The engine keeps them in the
// state with the reason. The error says what has to be settled by hand.
func LookAtFailed(ctx context.Context, deployment *apitype.DeploymentV3, evidence Evidence) (Survey, error) {
	l := looking{deployment: deployment, Evidence: evidence}
	err := l.atFailed(ctx)
	return l.found, err
}

// looking is a survey in the making.
type looking struct {
	Evidence
	deployment *apitype.DeploymentV3
	found      Survey
}

func (l *looking) atFailed(ctx context.Context) error {
	for _, machine := range l.deployment.Resources {
		if machine.Type != token.VirtualMachine || len(machine.InitErrors) == 0 || machine.Delete || machine.PendingReplacement {
			continue
		}
		remnant, use, err := l.at(ctx, machine, false)
		switch {
		case err != nil:
			return err
		case remnant != nil && use != "" && isNoted(machine):
			return &usedError{Remnant: *remnant, use: use}
		case remnant == nil:
			l.found.ended = append(l.found.ended, machine.URN)
		case use == "":
			l.found.NeverRan = append(l.found.NeverRan, *remnant)
		default:
			l.found.Used = append(l.found.Used, *remnant)
		}
	}
	return nil
}

func (l *looking) atUnfinished(ctx context.Context) error {
	for _, operation := range l.deployment.PendingOperations {
		if operation.Type == apitype.OperationTypeCreating && isMade(l.deployment, operation.Resource.URN) {
			continue
		}
		if operation.Type != apitype.OperationTypeCreating || operation.Resource.Type != token.VirtualMachine {
			l.note("%s of %s was interrupted: it is done again", operation.Type, operation.Resource.URN.Name())
			continue
		}
		remnant, use, err := l.at(ctx, operation.Resource, true)
		switch {
		case err != nil:
			return err
		case remnant != nil && remnant.Unanswered:
			l.adopt(*remnant, operation.Resource)
		case remnant != nil && use != "":
			return &usedError{Remnant: *remnant, use: use}
		case remnant != nil:
			l.note("the creation of VM %d (%s) was cut off", remnant.VMID, remnant.Name)
			l.found.NeverRan = append(l.found.NeverRan, *remnant)
			l.found.begun = append(l.found.begun, operation.Resource)
		}
	}
	return nil
}

// isMade says that a resource is in the state after all: a plain engine keeps a creation pending that it has made up for
// in a later run. One that waits for its replacement is deleted (pulumi pkg/v3 v3.254.0, resource/deploy/step.go,
// DeleteStep).
func isMade(deployment *apitype.DeploymentV3, urn resource.URN) bool {
	return slices.ContainsFunc(deployment.Resources, func(made apitype.ResourceV3) bool {
		return made.URN == urn && made.ID != "" && !made.Delete && !made.PendingReplacement
	})
}

// at looks at what is left of one machine, and says by what it is known that it was used; nil when nothing is left.
func (l *looking) at(ctx context.Context, machine apitype.ResourceV3, unfinished bool) (remnant *Remnant, use string, err error) {
	w, err := wantedOf(machine)
	if err != nil {
		return nil, "", err
	}
	found, err := settle(ctx, w, l.Host)
	if err != nil {
		return nil, "", err
	}
	if found == nil {
		l.note("creation of VM %d (%s) ended before it existed", int(w.VMID), w.Name)
		return nil, "", nil
	}
	past, err := l.Past()
	if err != nil {
		return nil, "", err
	}
	known := witnesses{deployment: l.deployment, past: past}
	use = known.use(machine, unfinished, found)
	if !found.Empty && found.Name != w.Name && (unfinished || use == "") {
		return nil, "", fmt.Errorf("VM %d on %s is %q, not our %q: give our node another vmid in nodes.yaml, or delete that VM", int(w.VMID), found.Node, found.Name, w.Name)
	}
	if err := w.refuse(found, !unfinished); err != nil {
		return nil, "", err
	}
	return &Remnant{
		URN: machine.URN, VMID: int(w.VMID), Node: found.Node, Name: w.Name,
		Idle: !found.Running && w.isToRun(), Joined: known.memberOf(machine.URN) != "",
		Unanswered: isUnanswered(machine, found) || unfinished && found.Ran != "" && w.isProvenBy(found), birth: found.Birth, runs: found.Running,
	}, use, nil
}

// isNoted says that a machine is in the state because recovery noted it, of whose creation nothing else is known.
func isNoted(machine apitype.ResourceV3) bool {
	return machine.Created == nil && machine.Modified == nil
}

func (l *looking) note(format string, args ...any) {
	l.found.notes = append(l.found.notes, fmt.Sprintf(format, args...))
}

// usedError leaves alone what only its owner may decide on.
type usedError struct {
	Remnant
	use string
}

// Error names no command that deletes a machine which runs.
func (e *usedError) Error() string {
	left := fmt.Sprintf("VM %d (%s) on %s is left alone, because %s, and the state knows only that its creation was begun: ", e.VMID, e.Name, e.Node, e.use)
	const restore = "if it holds anything, put the state that knows it back with `em-infra state restore`; "
	if e.runs {
		return left + restore + "if it does not, shut it down, then run up again"
	}
	return left + restore + fmt.Sprintf("if it does not, delete it with `qm destroy %d --purge` on %s, then run up again", e.VMID, e.Node)
}
