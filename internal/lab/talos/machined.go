package talos

import (
	"context"
	"fmt"
	"net"
	"sync"

	cosiapi "github.com/cosi-project/runtime/api/v1alpha1"
	"github.com/cosi-project/runtime/pkg/state/protobuf/server"
	"github.com/siderolabs/talos/pkg/grpc/factory"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	clusterapi "github.com/siderolabs/talos/pkg/machinery/api/cluster"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/api/storage"
	timeapi "github.com/siderolabs/talos/pkg/machinery/api/time"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/em-infra/em-infra/internal/lab/talos/cosi"
)

// machinedServer serves the Talos API of a configured node. Only apid connects to it, and puts the caller's roles into the
// metadata.
type machinedServer struct {
	machine.UnimplementedMachineServiceServer

	system   *system
	listener *bufconn.Listener
	grpc     *grpc.Server
	serving  sync.WaitGroup
}

// connectionBuffer is the size of the buffer between apid and machined, in bytes, for each direction.
const connectionBuffer = 64 << 10

// startMachined starts the server behind apid.
func (s *system) startMachined() *machinedServer {
	m := &machinedServer{system: s, listener: bufconn.Listen(connectionBuffer)}

	roles := &authz.Injector{Mode: authz.MetadataOnly}
	access := &authz.Authorizer{Rules: accessRules, FallbackRoles: role.MakeSet(role.Admin)}

	m.grpc = factory.NewServer(m,
		// calls may start background work, so none may outlive the system
		factory.ServerOptions(grpc.MaxRecvMsgSize(constants.GRPCMaxMessageSize), grpc.WaitForHandlers(true)),
		factory.WithUnaryInterceptor(roles.UnaryInterceptor()),
		factory.WithStreamInterceptor(roles.StreamInterceptor()),
		factory.WithUnaryInterceptor(access.UnaryInterceptor()),
		factory.WithStreamInterceptor(access.StreamInterceptor()),
	)

	// Serve returns when the server stops; nothing can be done about its error then.
	m.serving.Go(func() { _ = m.grpc.Serve(m.listener) })

	s.mu.Lock()
	s.machined = m
	s.mu.Unlock()

	return m
}

// Register implements factory.Registrator with the services of Talos' machined.
func (m *machinedServer) Register(g *grpc.Server) {
	machine.RegisterMachineServiceServer(g, m)
	storage.RegisterStorageServiceServer(g, &storageServer{system: m.system})
	timeapi.RegisterTimeServiceServer(g, &timeServer{system: m.system})
	clusterapi.RegisterClusterServiceServer(g, &clusterServer{system: m.system})
	cosiapi.RegisterStateServer(g, server.NewState(cosi.Restricted(m.system.resources)))
}

func (m *machinedServer) connect(ctx context.Context) (net.Conn, error) {
	return m.listener.DialContext(ctx)
}

func (m *machinedServer) stop() {
	m.grpc.Stop()
	m.serving.Wait()
}

// actor returns a new ID for the effects of a call.
func (m *machinedServer) actor() (string, error) {
	id, err := randomUUID(m.system.fleet.config.Rand)
	if err != nil {
		return "", fmt.Errorf("identify the actor: %w", err)
	}

	return id, nil
}

// needControlPlane returns an error on a worker, for calls that only control planes support.
func (m *machinedServer) needControlPlane(name string) error {
	if m.system.config().Machine().Type().IsControlPlane() {
		return nil
	}

	return status.Errorf(codes.Unimplemented, "%s is only available on control plane nodes", name)
}
