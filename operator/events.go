package operator

import (
	"sync"
	"time"

	"github.com/em-infra/em-infra/operator/internal/progress"
)

// Events is told what operations do, while they do it.
type Events interface {
	// Handle gets one event. It is never called twice at the same time.
	Handle(event Event)
}

// Event is something that happened: one of the types of this file.
type Event interface{ isEvent() }

type (
	// Progress is what was done in a part of an operation, or goes on there.
	Progress struct {
		// Part is the phase, or another part of the operation.
		Part string
		// What was done.
		What string
		// Took is how long it took so far.
		Took time.Duration
		// Failed says that it could not be done.
		Failed bool
		// Engine says that the engine works on it, whose own words are [EngineOutput].
		Engine bool
	}
	// Note is what the engine or a provider says besides.
	Note struct{ Text string }
	// Waiting is what the operation of the [Progress] before waits for.
	Waiting struct{ Wait }
	// EngineOutput is what the engine itself prints, in pieces.
	EngineOutput struct {
		Text []byte
		// Err says that it is for the error stream.
		Err bool
	}
	// LabStarted says that the lab of a rehearsal runs.
	LabStarted struct {
		Lab LabHost
		// Nodes of the inventory.
		Nodes int
	}
	// HostChecked is what the host was found to bear before an operation.
	HostChecked struct {
		Checks Checks
		Took   time.Duration
	}
	// BackedUp is a copy of the state.
	BackedUp struct{ Backup Backup }
	// Recovered is something that an earlier run left behind, and what was done about it.
	Recovered struct{ What string }
	// OtherPlugins are plugins of other builds than those that wrote the state, a sentence each.
	OtherPlugins struct{ Plugins []string }
	// Assessed is what an operation is going to do.
	Assessed struct{ Assessment Assessment }
	// ArtifactsKept is the folder of what a run of the engine leaves to be looked at.
	ArtifactsKept struct{ Dir string }
	// CredentialsKept is the kubeconfig of a cluster that stands although its run failed.
	CredentialsKept struct{ Kubeconfig string }
	// Verified is what stands at the end of an up.
	Verified struct {
		Report StatusReport
		Took   time.Duration
	}
	// Rebooting is a step of the reboot of a node.
	Rebooting struct{ Text string }
	// LeftOnHost is something that stays on the host when its stack is destroyed.
	LeftOnHost struct{ What, Do string }
	// StateDamaged says that the state which a backup is to replace cannot be read.
	StateDamaged struct{ Reason string }
	// Restoring is the backup that is going to be put back, and what that would change.
	Restoring struct {
		Backup     Backup
		Difference Difference
	}
	// StateMoved is the state of a stack at its new place.
	StateMoved struct{ Stack, To string }
	// TasksFound are tasks of the host.
	TasksFound struct{ Tasks []Task }
	// Rehearsed is a step of a rehearsal.
	Rehearsed struct{ Step RehearsedStep }
)

func (Progress) isEvent()        {}
func (Note) isEvent()            {}
func (Waiting) isEvent()         {}
func (EngineOutput) isEvent()    {}
func (LabStarted) isEvent()      {}
func (HostChecked) isEvent()     {}
func (BackedUp) isEvent()        {}
func (Recovered) isEvent()       {}
func (OtherPlugins) isEvent()    {}
func (Assessed) isEvent()        {}
func (ArtifactsKept) isEvent()   {}
func (CredentialsKept) isEvent() {}
func (Verified) isEvent()        {}
func (Rebooting) isEvent()       {}
func (LeftOnHost) isEvent()      {}
func (StateDamaged) isEvent()    {}
func (Restoring) isEvent()       {}
func (StateMoved) isEvent()      {}
func (TasksFound) isEvent()      {}
func (Rehearsed) isEvent()       {}

// serialEvents hands on one event at a time.
type serialEvents struct {
	mutex sync.Mutex
	to    Events
}

func (e *serialEvents) Handle(event Event) {
	if e.to == nil {
		return
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.to.Handle(event)
}

// progressEvents is the [progress.Listener] that makes events of what it is told.
type progressEvents struct{ emit func(Event) }

func (p progressEvents) Line(part, what string, took time.Duration) {
	p.emit(Progress{Part: part, What: what, Took: took, Engine: true})
}

func (p progressEvents) Failed(part, what string, took time.Duration) {
	p.emit(Progress{Part: part, What: what, Took: took, Failed: true, Engine: true})
}

func (p progressEvents) Note(text string) { p.emit(Note{Text: text}) }

func (p progressEvents) Waits(wait progress.Wait) { p.emit(Waiting{Wait: wait}) }

// engineWriter makes events of what the engine prints.
type engineWriter struct {
	emit  func(Event)
	isErr bool
}

func (w engineWriter) Write(text []byte) (int, error) {
	w.emit(EngineOutput{Text: append([]byte(nil), text...), Err: w.isErr})
	return len(text), nil
}
