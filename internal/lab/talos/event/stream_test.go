package event_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/em-infra/em-infra/internal/lab/talos/event"
)

// clock advances by a second with each call.
type clock struct{ now time.Time }

func (c *clock) next() time.Time {
	c.now = c.now.Add(time.Second)

	return c.now
}

// newStream returns a stream with the events task-0 … task-n, one per second, every third of them by actor a.
func newStream(t *testing.T, n int) *event.Stream {
	t.Helper()

	c := &clock{now: time.Unix(1_700_000_000, 0)}
	stream := event.NewStream(c.next)

	for i := range n {
		actor := ""
		if i%3 == 0 {
			actor = "a"
		}

		require.NoError(t, stream.Publish(actor, &machine.TaskEvent{Task: fmt.Sprintf("task-%d", i)}))
	}

	return stream
}

// rest reads until the stream ends.
func rest(t *testing.T, stream *event.Stream, tail event.Tail) []string {
	t.Helper()

	reader, err := stream.Follow(tail)
	require.NoError(t, err)
	stream.End()

	var tasks []string

	for {
		message, err := reader.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return tasks
		}

		require.NoError(t, err)
		require.Equal(t, "talos/runtime/machine.TaskEvent", message.GetData().GetTypeUrl())

		var task machine.TaskEvent
		require.NoError(t, proto.Unmarshal(message.GetData().GetValue(), &task))
		tasks = append(tasks, task.GetTask())
	}
}

func TestWhereReadersBegin(t *testing.T) {
	t.Parallel()

	third, err := newStream(t, 3).Follow(event.Tail{Events: 1})
	require.NoError(t, err)
	last, err := third.Next(t.Context())
	require.NoError(t, err)

	for _, test := range []struct {
		name string
		tail event.Tail
		want []string
	}{
		{"now", event.Tail{}, nil},
		{"two past", event.Tail{Events: 2}, []string{"task-3", "task-4"}},
		{"more than there are", event.Tail{Events: 10}, []string{"task-0", "task-1", "task-2", "task-3", "task-4"}},
		{"all", event.Tail{Events: -1}, []string{"task-0", "task-1", "task-2", "task-3", "task-4"}},
		{"after the third", event.Tail{ID: last.GetId()}, []string{"task-3", "task-4"}},
		{"the last three seconds", event.Tail{Duration: 3 * time.Second}, []string{"task-3", "task-4"}},
		{"all by one actor", event.Tail{Events: -1, Actor: "a"}, []string{"task-0", "task-3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, rest(t, newStream(t, 5), test.tail))
		})
	}
}

func TestOnlyOneBeginning(t *testing.T) {
	t.Parallel()

	_, err := newStream(t, 1).Follow(event.Tail{Events: 1, Duration: time.Second})
	require.EqualError(t, err, "only one of the number of past events, the last event and the past duration can be given")
}

// TestSlowReader checks that a slow reader gets an error, and that a new one starts with the oldest event in the history.
func TestSlowReader(t *testing.T) {
	t.Parallel()

	stream := newStream(t, 1)

	slow, err := stream.Follow(event.Tail{Events: -1})
	require.NoError(t, err)

	for i := range event.History {
		require.NoError(t, stream.Publish("", &machine.TaskEvent{Task: fmt.Sprintf("later-%d", i)}))
	}

	_, err = slow.Next(t.Context())
	require.ErrorIs(t, err, event.ErrOverrun)

	kept := rest(t, stream, event.Tail{Events: -1})
	require.Len(t, kept, event.History)
	require.Equal(t, "later-0", kept[0])
}

func TestReaderWaits(t *testing.T) {
	t.Parallel()

	stream := newStream(t, 0)
	reader, err := stream.Follow(event.Tail{})
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()

	_, err = reader.Next(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, stream.Publish("a", &machine.TaskEvent{Task: "late"}))

	message, err := reader.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a", message.GetActorId())
	require.Len(t, message.GetId(), 20)
}

func TestHelloIsEmpty(t *testing.T) {
	t.Parallel()

	hello := newStream(t, 2).Hello("a")
	require.Equal(t, "a", hello.GetActorId())
	require.Empty(t, hello.GetData().GetTypeUrl())
	require.Empty(t, hello.GetData().GetValue())
}
