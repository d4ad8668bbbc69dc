package talos

import (
	"context"
	"fmt"
	"strings"

	cosiapi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/state/protobuf/server"
	talostls "github.com/siderolabs/crypto/tls"
	"github.com/siderolabs/talos/pkg/grpc/factory"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/em-infra/em-infra/internal/lab/talos/cosi"
)

// maintenanceServer is the machine service in maintenance mode, with the answers and texts of Talos'
// internal/app/maintenance. Every caller has the role reader, so calls that need an admin are not available.
type maintenanceServer struct {
	machine.UnimplementedMachineServiceServer

	system  *system
	applied chan config.Provider
}

// openMaintenance opens the maintenance API on the addresses of the configuration drive, with a certificate of an unknown
// authority.
func (s *system) openMaintenance(ctx context.Context, service *maintenanceServer) error {
	certificate, err := maintenanceCertificate(s.hardware, s.fleet.config.Now())
	if err != nil {
		return err
	}

	config, err := talostls.New(talostls.WithClientAuthType(talostls.ServerOnly), talostls.WithKeypair(certificate))
	if err != nil {
		return fmt.Errorf("prepare TLS of the maintenance service: %w", err)
	}

	listeners, err := s.listen(ctx, s.hardware.addresses())
	if err != nil {
		return err
	}

	watch := &guard{vm: s.vm, listeners: listeners}
	roles := &authz.Injector{Mode: authz.ReadOnlyWithAdminOnSiderolink}

	s.setFront(serveGRPC(factory.NewServer(service,
		factory.ServerOptions(grpc.Creds(credentials.NewTLS(config)), grpc.WaitForHandlers(true)),
		factory.WithUnaryInterceptor(roles.UnaryInterceptor()),
		factory.WithStreamInterceptor(roles.StreamInterceptor()),
		factory.WithUnaryInterceptor(watch.unary),
		factory.WithStreamInterceptor(watch.stream),
	), listeners))

	return nil
}

// Register implements factory.Registrator.
func (m *maintenanceServer) Register(g *grpc.Server) {
	machine.RegisterMachineServiceServer(g, m)
	storage.RegisterStorageServiceServer(g, &storageServer{system: m.system})
	cosiapi.RegisterStateServer(g, server.NewState(cosi.Restricted(m.system.resources)))
}

// ApplyConfiguration accepts the first configuration of the machine. A parse error has no code, as in Talos, so clients
// retry.
func (m *maintenanceServer) ApplyConfiguration(
	ctx context.Context, in *machine.ApplyConfigurationRequest,
) (*machine.ApplyConfigurationResponse, error) {
	switch in.GetMode() {
	case machine.ApplyConfigurationRequest_TRY, machine.ApplyConfigurationRequest_REBOOT, machine.ApplyConfigurationRequest_AUTO:
	default:
		mode := strings.ReplaceAll(strings.ToLower(in.GetMode().String()), "_", "-")

		return nil, status.Errorf(codes.Unimplemented, "apply configuration --mode='%s' is not supported in maintenance mode", mode)
	}

	cfg, err := configloader.NewFromBytes(in.GetData())
	if err != nil {
		return nil, fmt.Errorf("failed to parse config: %w", err)
	}

	warnings, err := m.system.validate(ctx, cfg, "configuration validation failed: ", "runtime configuration validation failed: ")
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	answer := &machine.ApplyConfiguration{Warnings: warnings}

	if in.GetDryRun() {
		answer.ModeDetails = "Dry run summary:\nNode is running in maintenance mode and does not have a config yet."
	} else if err := m.hand(ctx, cfg); err != nil {
		return nil, err
	}

	return &machine.ApplyConfigurationResponse{Messages: []*machine.ApplyConfiguration{answer}}, nil
}

// hand passes the configuration on. It waits while an earlier one is being processed.
func (m *maintenanceServer) hand(ctx context.Context, cfg config.Provider) error {
	select {
	case m.applied <- cfg:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// errMaintenance is Talos' error in maintenance mode for calls that need an admin.
func errMaintenance() error {
	return status.Error(codes.Unimplemented, "API is not implemented in maintenance mode")
}

// GenerateClientConfiguration is refused: there is no authority that could sign.
func (m *maintenanceServer) GenerateClientConfiguration(
	context.Context, *machine.GenerateClientConfigurationRequest,
) (*machine.GenerateClientConfigurationResponse, error) {
	return nil, status.Error(codes.Unimplemented, "client configuration (talosconfig) can't be generated in the maintenance mode")
}

// Version is refused: it needs an admin.
func (m *maintenanceServer) Version(context.Context, *emptypb.Empty) (*machine.VersionResponse, error) {
	return nil, errMaintenance()
}

// Upgrade is refused: it needs an admin.
func (m *maintenanceServer) Upgrade(context.Context, *machine.UpgradeRequest) (*machine.UpgradeResponse, error) {
	return nil, errMaintenance()
}

// Reset is refused: it needs an admin.
func (m *maintenanceServer) Reset(context.Context, *machine.ResetRequest) (*machine.ResetResponse, error) {
	return nil, errMaintenance()
}

// MetaWrite is refused: it needs an admin.
func (m *maintenanceServer) MetaWrite(context.Context, *machine.MetaWriteRequest) (*machine.MetaWriteResponse, error) {
	return nil, errMaintenance()
}

// MetaDelete is refused: it needs an admin.
func (m *maintenanceServer) MetaDelete(context.Context, *machine.MetaDeleteRequest) (*machine.MetaDeleteResponse, error) {
	return nil, errMaintenance()
}
