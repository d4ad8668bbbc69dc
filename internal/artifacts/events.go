package artifacts

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
)

// Watch gives operate a stream for the engine's events, writes each as one line as it comes, and returns what operate does.
// The engine has taken the secrets that it knows of out of them; what is known here is taken out again.
func (r *Run) Watch(operate func(stream chan<- events.EngineEvent) error) error {
	stream := make(chan events.EngineEvent)
	ended, drained := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drained)
		for {
			select {
			case event, open := <-stream:
				if !open {
					return
				}
				r.keep(event)
			case <-ended: // an engine that did not even start has not closed the stream
				return
			}
		}
	}()
	err := operate(stream)
	close(ended)
	<-drained
	return err
}

func (r *Run) keep(event events.EngineEvent) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if event.Error != nil {
		r.fail(fmt.Errorf("events of the engine: %w", event.Error))
		return
	}
	r.timeline.add(r.clock(), event.EngineEvent)
	line, err := json.Marshal(event.EngineEvent)
	if err == nil {
		_, err = r.events.Write(append(r.redactor.Redact(line), '\n'))
	}
	r.fail(err)
}

// fail remembers the first failure: a run does not end for its artifacts.
func (r *Run) fail(err error) {
	if r.failed == nil && err != nil {
		r.failed = fmt.Errorf("write %s: %w", fileEvents, err)
	}
}
