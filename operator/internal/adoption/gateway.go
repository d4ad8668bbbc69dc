package adoption

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Variable is the environment variable by which the engine attaches to running providers instead of starting their plugins (pulumi
// sdk/v3 v3.254.0, go/common/resource/plugin/provider_plugin.go, GetProviderAttachPort).
const Variable = "PULUMI_DEBUG_PROVIDERS"

// Gateway stands between the engine and the plugins.
type Gateway struct {
	ports   []string // NAME:PORT
	servers []*grpc.Server
	served  sync.WaitGroup

	mu        sync.Mutex
	processes []*process
}

// Open starts a gateway for the plugins, on this machine alone. The recorder answers what would be created.
func Open(plugins []Plugin, recorder *Recorder) (*Gateway, error) {
	g := &Gateway{}
	for _, plugin := range plugins {
		if err := g.serve(plugin, recorder); err != nil {
			g.Close()
			return nil, fmt.Errorf("gateway to the plugin %s: %w", plugin.Name, err)
		}
	}
	return g, nil
}

// Value returns the value of [Variable].
func (g *Gateway) Value() string { return strings.Join(g.ports, ",") }

// Close ends the gateway and its plugins.
func (g *Gateway) Close() {
	for _, server := range g.servers {
		server.Stop()
	}
	g.served.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, running := range g.processes {
		running.end()
	}
	g.processes = nil
}

func (g *Gateway) serve(plugin Plugin, recorder *Recorder) error {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	door := &door{plugin: plugin, recorder: recorder, started: g.keep, by: map[string]*process{}}
	server := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(door.handle),
		grpc.MaxRecvMsgSize(largestMessage), grpc.MaxSendMsgSize(largestMessage))
	g.servers = append(g.servers, server)
	g.ports = append(g.ports, plugin.Name+":"+strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	g.served.Go(func() { _ = server.Serve(listener) }) // it ends with Stop
	return nil
}

func (g *Gateway) keep(running *process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.processes = append(g.processes, running)
}

// door is the gateway to one plugin. Each connection of the engine is a provider of its own, with its own configuration, and gets a
// process of its own, as without the gateway.
type door struct {
	plugin   Plugin
	recorder *Recorder
	started  func(*process)

	mu sync.Mutex
	by map[string]*process // by the engine's end of the connection
}

// handle passes a call on. All calls of a provider are unary (pulumi sdk/v3 v3.254.0, proto/pulumi/provider.proto).
func (d *door) handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request message
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	answer, err := d.answer(stream.Context(), method, &request)
	if err != nil {
		return err
	}
	return stream.SendMsg(answer)
}

func (d *door) answer(ctx context.Context, method string, request *message) (any, error) {
	switch method {
	case pulumirpc.ResourceProvider_Attach_FullMethodName:
		return &emptypb.Empty{}, nil // the plugin was started with the engine's address
	case pulumirpc.ResourceProvider_Handshake_FullMethodName:
		var handshake pulumirpc.ProviderHandshakeRequest
		if err := proto.Unmarshal(request.bytes, &handshake); err != nil {
			return nil, err
		}
		if err := d.start(ctx, handshake.GetEngineAddress()); err != nil {
			return nil, err
		}
	}
	running, err := d.of(ctx)
	if err != nil {
		return nil, err
	}
	switch method {
	case pulumirpc.ResourceProvider_Create_FullMethodName:
		var create pulumirpc.CreateRequest
		if err := proto.Unmarshal(request.bytes, &create); err != nil {
			return nil, err
		}
		return d.recorder.Create(ctx, pulumirpc.NewResourceProviderClient(running), &create)
	case pulumirpc.ResourceProvider_Update_FullMethodName, pulumirpc.ResourceProvider_Delete_FullMethodName:
		return nil, errChanges // an empty state has nothing to change
	}
	var answer message
	if err := running.Invoke(ctx, method, request, &answer, calls()...); err != nil {
		return nil, err // with the details that the plugin has given
	}
	return &answer, nil
}

var errChanges = status.Error(codes.FailedPrecondition, "an adoption changes and deletes nothing")

// start starts the plugin for a connection.
func (d *door) start(ctx context.Context, engine string) error {
	running, err := d.plugin.start(engine)
	if err != nil {
		return err
	}
	d.started(running)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.by[from(ctx)] = running
	return nil
}

// of returns the plugin of a connection.
func (d *door) of(ctx context.Context) (*process, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	running, begun := d.by[from(ctx)]
	if !begun {
		return nil, status.Error(codes.FailedPrecondition, "the engine has not greeted the provider on this connection")
	}
	return running, nil
}

// from returns the engine's end of a connection.
func from(ctx context.Context) string {
	caller, _ := peer.FromContext(ctx)
	return caller.Addr.String()
}
