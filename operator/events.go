package operator

import (
	"sync"
	"time"

	"github.com/em-infra/em-infra/operator/internal/progress"
)

// Events receives the events of operations while they run.
type Events interface {
	// Handle receives one event. Calls never overlap.
	Handle(event Event)
}

// Event is one of the types of this file.
type Event interface{ isEvent() }

type (
	// Progress is a finished or running step of an operation.
	Progress struct {
		// Part is the phase, or another part of the operation.
		Part string
		// What is the step.
		What string
		// Took is the duration so far.
		Took time.Duration
		// Failed reports whether the step failed.
		Failed bool
		// Engine reports whether the engine does the step. The engine's own output is [EngineOutput].
		Engine bool
	}
	// Note is a message without a step: of the operation itself, such as a warning, of the engine, or of a provider.
	Note struct{ Text string }
	// Waiting is what the operation of the previous [Progress] waits for.
	Waiting struct{ Wait }
	// EngineOutput is a piece of the engine's own output.
	EngineOutput struct {
		Text []byte
		// Err reports whether the text belongs to the error stream.
		Err bool
	}
	// LabStarted is emitted when the lab of a rehearsal runs.
	LabStarted struct {
		Lab LabHost
		// Nodes is the number of nodes of the inventory.
		Nodes int
	}
	// HostChecked is the result of the checks of the host before an operation.
	HostChecked struct {
		Checks Checks
		Took   time.Duration
	}
	// BackedUp is a backup of the state that was written.
	BackedUp struct {
		Backup Backup
		// Bucket is the bucket that has a copy of it; empty for none.
		Bucket string
	}
	// Recovered is a leftover of an earlier run and what was done about it.
	Recovered struct{ What string }
	// OtherPlugins lists, in one sentence each, plugins of other builds than the ones that wrote the state.
	OtherPlugins struct{ Plugins []string }
	// Assessed is the assessment of what an operation will do.
	Assessed struct{ Assessment Assessment }
	// ArtifactsKept is the folder with the artifacts of a run of the engine.
	ArtifactsKept struct{ Dir string }
	// CredentialsKept is the kubeconfig of a cluster that works although its run failed.
	CredentialsKept struct{ Kubeconfig string }
	// Verified is the status of the cluster at the end of an up.
	Verified struct {
		Report StatusReport
		Took   time.Duration
	}
	// Rebooting is a step of the reboot of a node, or of its return to its former release.
	Rebooting struct{ Text string }
	// LeftOnHost is something that stays on the host after its stack was destroyed.
	LeftOnHost struct{ What, Do string }
	// StateDamaged is emitted when the state that a backup will replace cannot be read.
	StateDamaged struct{ Reason string }
	// Restoring is the backup that will be restored, and its differences from the present state.
	Restoring struct {
		Backup     Backup
		Difference Difference
	}
	// StateMoved is emitted when the state of a stack was moved.
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

// serialEvents passes events on, one at a time.
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

// progressEvents implements [progress.Listener] by emitting events.
type progressEvents struct{ emit func(Event) }

func (p progressEvents) Line(part, what string, took time.Duration) {
	p.emit(Progress{Part: part, What: what, Took: took, Engine: true})
}

func (p progressEvents) Failed(part, what string, took time.Duration) {
	p.emit(Progress{Part: part, What: what, Took: took, Failed: true, Engine: true})
}

func (p progressEvents) Note(text string) { p.emit(Note{Text: text}) }

func (p progressEvents) Waits(wait progress.Wait) { p.emit(Waiting{Wait: wait}) }

// engineWriter emits the engine's output as events.
type engineWriter struct {
	emit  func(Event)
	isErr bool
}

func (w engineWriter) Write(text []byte) (int, error) {
	w.emit(EngineOutput{Text: append([]byte(nil), text...), Err: w.isErr})
	return len(text), nil
}
