package talos

import (
	"context"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// GenerateClientConfiguration returns a talosconfig with a new client certificate, so that operators can renew their own.
func (m *machinedServer) GenerateClientConfiguration(
	_ context.Context, in *machine.GenerateClientConfigurationRequest,
) (*machine.GenerateClientConfigurationResponse, error) {
	cfg := m.system.config()
	if cfg.Machine().Type() == machinetype.TypeWorker {
		return nil, status.Error(codes.FailedPrecondition, "client configuration (talosconfig) can't be generated on worker nodes")
	}

	if in.GetCrtTtl().AsDuration() <= 0 {
		return nil, status.Error(codes.InvalidArgument, "crt_ttl should be positive")
	}

	roles, _ := role.Parse(in.GetRoles())
	bundle := secrets.NewBundleFromConfig(secrets.NewFixedClock(m.system.fleet.config.Now()), cfg)

	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(roles, in.GetCrtTtl().AsDuration())
	if err != nil {
		return nil, err
	}

	name := cfg.Cluster().Name()
	if names := roles.Strings(); len(names) == 1 {
		name = strings.TrimPrefix(names[0], role.Prefix) + "@" + name
	}

	talosconfig, err := clientconfig.NewConfig(name, nil, bundle.Certs.OS.Crt, certificate).Bytes()
	if err != nil {
		return nil, err
	}

	return &machine.GenerateClientConfigurationResponse{Messages: []*machine.GenerateClientConfiguration{{
		Ca: bundle.Certs.OS.Crt, Crt: certificate.Crt, Key: certificate.Key, Talosconfig: talosconfig,
	}}}, nil
}
