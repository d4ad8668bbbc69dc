package artifacts

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
)

// Keep writes an event of the engine as one line. The engine has already removed the secrets that it knows; Keep also removes the
// ones that the redactor knows. [Run.Finish] returns the errors, because a run must not fail because of its artifacts.
func (r *Run) Keep(event events.EngineEvent) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := event.Error
	if err == nil {
		r.timeline.add(r.clock(), event.EngineEvent)
		err = r.writeLine(event)
	}
	if r.failed == nil && err != nil {
		r.failed = fmt.Errorf("write %s: %w", fileEvents, err)
	}
}

func (r *Run) writeLine(event events.EngineEvent) error {
	line, err := json.Marshal(event.EngineEvent)
	if err != nil {
		return err
	}
	_, err = r.events.Write(append(r.redactor.Redact(line), '\n'))
	return err
}
