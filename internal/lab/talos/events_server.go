package talos

import (
	"errors"
	"io"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/lab/talos/event"
)

// Events streams the events of the node, after an empty one that shows the client that the stream has started. It ends with
// the system.
func (m *machinedServer) Events(in *machine.EventsRequest, stream machine.MachineService_EventsServer) error {
	// The reader starts before the client is informed, so that the effects of the client's next calls are in the stream.
	reader, err := m.system.events.Follow(event.Tail{
		Events:   int(in.GetTailEvents()),
		ID:       in.GetTailId(),
		Duration: time.Duration(in.GetTailSeconds()) * time.Second,
		Actor:    in.GetWithActorId(),
	})
	if err != nil {
		return err
	}

	if err := stream.Send(m.system.events.Hello(in.GetWithActorId())); err != nil {
		return err
	}

	for {
		message, err := reader.Next(stream.Context())
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return err
		}

		if err := stream.Send(message); err != nil {
			return err
		}
	}
}
