package talos

import (
	"context"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
)

func (m *machinedServer) Reboot(_ context.Context, in *machine.RebootRequest) (*machine.RebootResponse, error) {
	actor, err := m.actor()
	if err != nil {
		return nil, err
	}

	force := in.GetMode() == machine.RebootRequest_FORCE
	if err := m.system.request(command{sequence: sequenceReboot, actor: actor, force: force}); err != nil {
		return nil, err
	}

	return &machine.RebootResponse{Messages: []*machine.Reboot{{ActorId: actor}}}, nil
}

func (m *machinedServer) Shutdown(_ context.Context, in *machine.ShutdownRequest) (*machine.ShutdownResponse, error) {
	actor, err := m.actor()
	if err != nil {
		return nil, err
	}

	if err := m.system.request(command{sequence: sequenceShutdown, actor: actor, force: in.GetForce()}); err != nil {
		return nil, err
	}

	return &machine.ShutdownResponse{Messages: []*machine.Shutdown{{ActorId: actor}}}, nil
}
