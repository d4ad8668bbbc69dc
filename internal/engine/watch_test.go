package engine_test

import (
	"errors"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
)

func TestWatchKeepsEveryEventInOrder(t *testing.T) {
	t.Parallel()
	var seen []int
	err := engine.Watch(func(stream chan<- events.EngineEvent) error {
		for i := range 100 {
			event := events.EngineEvent{}
			event.Sequence = i
			stream <- event
		}
		close(stream)
		return nil
	}, func(e events.EngineEvent) { seen = append(seen, e.Sequence) })
	require.NoError(t, err)
	require.Len(t, seen, 100)
	require.IsIncreasing(t, seen)
}

func TestWatchEndsWithAnEngineThatNeverStarted(t *testing.T) {
	t.Parallel()
	failure := errors.New("no CLI")
	err := engine.Watch(func(chan<- events.EngineEvent) error { return failure }, func(events.EngineEvent) {
		t.Error("nothing was sent")
	})
	require.Equal(t, failure, err)
}
