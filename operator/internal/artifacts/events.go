package artifacts

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
)

// Keep writes an event of the engine as one line. The engine has taken the secrets that it knows of out of it; what is known
// here is taken out again. [Run.Finish] reports failures: a run does not end because of its artifacts.
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
