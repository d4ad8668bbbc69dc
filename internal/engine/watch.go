package engine

import "github.com/pulumi/pulumi/sdk/v3/go/auto/events"

// Watch gives operate a stream for the engine's events, hands each to keep, one at a time, and returns what operate does.
// The stream is closed by an engine that was started; one that was not leaves it open.
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
