package talos

import (
	"context"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

const kubelet = "kubelet"

// byAPI reports whether Talos allows clients to start and stop a service: the kubelet and the services of extensions
// (system/services, APIStartAllowed).
func byAPI(id string) bool { return id == kubelet || id == agentService }

func (m *machinedServer) ServiceStart(_ context.Context, in *machine.ServiceStartRequest) (*machine.ServiceStartResponse, error) {
	running, err := m.runs(in.GetId())
	if err == nil && !running {
		err = m.startService(in.GetId())
	}

	if err != nil {
		return nil, err
	}

	return &machine.ServiceStartResponse{Messages: []*machine.ServiceStart{{Resp: fmt.Sprintf("Service %q started", in.GetId())}}}, nil
}

func (m *machinedServer) ServiceStop(_ context.Context, in *machine.ServiceStopRequest) (*machine.ServiceStopResponse, error) {
	running, err := m.runs(in.GetId())
	if err == nil && running {
		err = m.stopService(in.GetId(), "stop")
	}

	if err != nil {
		return nil, err
	}

	return &machine.ServiceStopResponse{Messages: []*machine.ServiceStop{{Resp: fmt.Sprintf("Service %q stopped", in.GetId())}}}, nil
}

// ServiceRestart stops a service if it runs, and starts it.
func (m *machinedServer) ServiceRestart(_ context.Context, in *machine.ServiceRestartRequest) (*machine.ServiceRestartResponse, error) {
	running, err := m.runs(in.GetId())
	if err == nil && running {
		err = m.stopService(in.GetId(), "restart")
	}

	if err == nil {
		err = m.startService(in.GetId())
	}

	if err != nil {
		return nil, err
	}

	return &machine.ServiceRestartResponse{Messages: []*machine.ServiceRestart{{Resp: fmt.Sprintf("Service %q restarted", in.GetId())}}}, nil
}

func (m *machinedServer) runs(id string) (bool, error) {
	state, known := m.system.services.State(id)
	if !known {
		return false, fmt.Errorf("service %q not defined", id)
	}

	return state == service.Running, nil
}

func (m *machinedServer) startService(id string) error {
	if !byAPI(id) {
		return fmt.Errorf("service %q doesn't support start operation via API", id)
	}

	if id == agentService {
		return m.system.startAgent()
	}

	return m.system.services.Start(id)
}

func (m *machinedServer) stopService(id, operation string) error {
	if !byAPI(id) {
		return fmt.Errorf("service %q doesn't support %s operation via API", id, operation)
	}

	return m.system.services.Set(id, service.Finished, "Service finished successfully")
}
