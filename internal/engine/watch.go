package engine

import "github.com/pulumi/pulumi/sdk/v3/go/auto/events"

// Watch passes operate a stream for the engine's events, passes each event to keep, one at a time, and returns the result of
// operate. An engine that was started closes the stream; otherwise it stays open.
func Watch(operate func(stream chan<- events.EngineEvent) error, keep func(events.EngineEvent)) error {
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
				keep(event)
			case <-ended:
				return
			}
		}
	}()
	err := operate(stream)
	close(ended)
	<-drained
	return err
}
