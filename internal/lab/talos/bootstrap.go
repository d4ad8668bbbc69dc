package talos

import (
	"context"
	"errors"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// Bootstrap starts the etcd cluster on this control plane. Preconditions, their order and their texts are those of Talos
// v1.12 (v1alpha1_server.go). The clock of an emulated node is always in sync.
func (m *machinedServer) Bootstrap(_ context.Context, in *machine.BootstrapRequest) (*machine.BootstrapResponse, error) {
	if state, _ := m.system.services.State("cri"); state != service.Running {
		return nil, status.Error(codes.FailedPrecondition, "bootstrap is not available yet")
	}

	cfg := m.system.config()
	if !cfg.Machine().Type().IsControlPlane() {
		return nil, status.Error(codes.FailedPrecondition, "bootstrap can only be performed on a control plane node")
	}

	if !m.system.etcdData().Empty() {
		return nil, status.Error(codes.AlreadyExists, errEtcdData.Error())
	}

	if in.GetRecoverEtcd() {
		err := m.system.restartEtcd(cfg, &etcdRecovery{skipHashCheck: in.GetRecoverSkipHashCheck()})
		if err != nil {
			return nil, err
		}

		return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
	}

	if err := m.system.bootstrapEtcd(cfg); errors.Is(err, errEtcdData) {
		return nil, status.Error(codes.AlreadyExists, err.Error())
	} else if err != nil {
		return nil, err
	}

	if err := m.system.endFailedEtcd(); err != nil {
		return nil, err
	}

	m.system.startEtcd(cfg, nil)

	return &machine.BootstrapResponse{Messages: []*machine.Bootstrap{{}}}, nil
}
