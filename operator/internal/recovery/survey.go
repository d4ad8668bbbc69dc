package recovery

import (
	"context"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
)

// Remnant is a machine that a failed or killed run has left on the host, incomplete or partly changed.
type Remnant struct {
	// URN is the machine's URN in the state.
	URN resource.URN
	// VMID, the Node with the machine, and the Name that it was to have.
	VMID int
	Node string
	Name string
	// Idle reports whether the machine is off although it is to run.
	Idle bool
	// Joined reports whether the state has a configuration of the machine: once it runs, its Talos answers.
	Joined bool
	// Unanswered reports whether the run that created the machine did not receive the confirmation, so that the state does not
	// contain it. It is adopted.
	Unanswered bool
	// IsContainer reports whether it is a container.
	IsContainer bool

	birth string
	runs  bool
}

// String returns the machine as messages name it: VM 102 (k3s-dev-worker-1) on vmhost.
func (r Remnant) String() string {
	kind := "VM"
	if r.IsContainer {
		kind = "CT"
	}
	return fmt.Sprintf("%s %d (%s) on %s", kind, r.VMID, r.Name, r.Node)
}

// Survey contains what failed and killed runs have left. Making it changes neither the host nor the state.
type Survey struct {
	// NeverRan are machines without any witness that they ran. [Delete] deletes one, after consent.
	NeverRan []Remnant
	// Used are machines that were in use when a change of them failed. They are kept, started and refreshed.
	Used []Remnant
	// Unanswered are machines that run or ran, and of which the state contains at most the begun creation. They are adopted.
	Unanswered []Remnant

	ended []resource.URN       // machines in the state that are not on the host
	begun []apitype.ResourceV3 // machines of NeverRan that are not in the state
	lost  []unanswered         // machines of Unanswered
	notes []string
}

// Evidence contains the sources of a survey besides the state.
type Evidence struct {
	// Host is the access to Proxmox VE.
	Host Host
	// Past returns the earlier states, newest first. It is called only if the result depends on it.
	Past func() ([]Past, error)
}

// LookAtUnfinished determines the outcome of the pending operations. It returns an error if something has to be cleaned up by hand.
func LookAtUnfinished(ctx context.Context, deployment *apitype.DeploymentV3, evidence Evidence) (Survey, error) {
	l := looking{deployment: deployment, Evidence: evidence}
	err := l.atUnfinished(ctx)
	return l.found, err
}

// LookAtFailed examines the machines whose last operation failed, which the engine keeps in the state with the reason. It returns an
// error if something has to be cleaned up by hand.
func LookAtFailed(ctx context.Context, deployment *apitype.DeploymentV3, evidence Evidence) (Survey, error) {
	l := looking{deployment: deployment, Evidence: evidence}
	err := l.atFailed(ctx)
	return l.found, err
}

// looking is a survey in progress.
type looking struct {
	Evidence
	deployment *apitype.DeploymentV3
	found      Survey
}

func (l *looking) atFailed(ctx context.Context) error {
	for machine := range state.Existing(*l.deployment, token.VirtualMachine) {
		if len(machine.InitErrors) == 0 {
			continue
		}
		remnant, use, err := l.at(ctx, *machine, false)
		switch {
		case err != nil:
			return err
		case remnant != nil && use != "" && isNoted(*machine):
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
			l.noteAgain(operation)
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

// noteAgain notes an operation that the next run does again. The creation of a container may have succeeded; [LookForUnknownSystems] finds it.
func (l *looking) noteAgain(operation apitype.OperationV2) {
	if operation.Type == apitype.OperationTypeCreating && operation.Resource.Type == token.Container {
		l.note("%s of %s was interrupted", operation.Type, operation.Resource.URN.Name())
		return
	}
	l.note("%s of %s was interrupted: it is done again", operation.Type, operation.Resource.URN.Name())
}

// isMade reports whether a resource is in the state although its creation is pending: a plain engine keeps the pending creation
// after a later run has completed it. A resource that waits for its replacement is deleted and does not count (pulumi pkg/v3
// v3.254.0, resource/deploy/step.go, DeleteStep).
func isMade(deployment *apitype.DeploymentV3, urn resource.URN) bool {
	return slices.ContainsFunc(deployment.Resources, func(made apitype.ResourceV3) bool {
		return made.URN == urn && made.ID != "" && !made.Delete && !made.PendingReplacement
	})
}

// at examines what is left of one machine, and returns the witness of its use. remnant is nil if nothing is left.
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
	if w.isStrangers(found) && (unfinished || use == "") {
		return nil, "", l.leaveToOthers(known, machine, w, found, unfinished)
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

// leaveToOthers notes that our machine was never made where another machine is now, unless a witness shows that ours was in use, which is an error.
// An error in every case would come again in each run, regardless of the vmid that the inventory gives ours now.
func (l *looking) leaveToOthers(known witnesses, machine apitype.ResourceV3, w wanted, found *pve.Machine, unfinished bool) error {
	if use := known.use(machine, unfinished, &pve.Machine{Node: found.Node, Name: w.Name}); use != "" {
		return fmt.Errorf("VM %d on %s is %q, not our %q, and %s: rename it back if it is ours; if it is not, put a state from before ours back with `em-infra state restore`, and %s",
			int(w.VMID), found.Node, found.Name, w.Name, use, w.moves())
	}
	l.note("the creation of VM %d (%s) was cut off; VM %d on %s is %s now, which is not ours and stays as it is", int(w.VMID), w.Name, int(w.VMID), found.Node, found.Name)
	return nil
}

// isNoted reports whether recovery has added the machine to the state: the engine's records have times.
func isNoted(machine apitype.ResourceV3) bool {
	return machine.Created == nil && machine.Modified == nil
}

func (l *looking) note(format string, args ...any) {
	l.found.notes = append(l.found.notes, fmt.Sprintf(format, args...))
}

// usedError is returned for a machine about which only its owner can decide.
type usedError struct {
	Remnant
	use string
}

// Error contains no command that deletes a running machine.
func (e *usedError) Error() string {
	left := fmt.Sprintf("VM %d (%s) on %s is left alone, because %s, and the state knows only that its creation was begun: ", e.VMID, e.Name, e.Node, e.use)
	const restore = "if it holds anything, put the state that knows it back with `em-infra state restore`; "
	if e.runs {
		return left + restore + "if it does not, shut it down, then run up again"
	}
	return left + restore + fmt.Sprintf("if it does not, delete it with `qm destroy %d --purge` on %s, then run up again", e.VMID, e.Node)
}
