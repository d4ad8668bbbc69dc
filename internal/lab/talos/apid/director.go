package apid

import (
	"context"
	"slices"
	"strings"

	"github.com/siderolabs/grpc-proxy/proxy"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Metadata keys: the nodes that a client names, and the mark of a forwarded call.
const (
	nodeKey  = "node"
	nodesKey = "nodes"
	proxied  = "proxyfrom"
)

// director decides which node answers a call: this node, or the nodes that the client named. The rules and texts are those of
// Talos v1.12 internal/app/apid/pkg/director.
type director struct {
	local   proxy.Backend
	remotes *remotes // nil on a worker, which does not forward
	isLocal func(target string) bool
}

func (d *director) direct(ctx context.Context, method string) (proxy.Mode, []proxy.Backend, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	node, nodes := md[nodeKey], md[nodesKey]

	if Forwarded(ctx) {
		return proxy.One2One, []proxy.Backend{d.local}, nil
	}

	if node != nil && len(node) != 1 {
		return proxy.One2One, nil, status.Error(codes.InvalidArgument, "node metadata must be single-valued")
	}

	// a worker answers a call to itself, although it cannot forward
	if d.remotes == nil {
		node, nodes = d.withoutSelf(node), d.withoutSelf(nodes)
	}

	switch {
	case nodes != nil && strings.HasPrefix(method, "/cosi."):
		return proxy.One2One, nil, status.Error(codes.InvalidArgument, "one-2-many proxying is not supported for COSI methods")
	case nodes != nil:
		return d.forward(proxy.One2Many, nodes)
	case node != nil:
		return d.forward(proxy.One2One, node)
	default:
		return proxy.One2One, []proxy.Backend{d.local}, nil
	}
}

func (d *director) withoutSelf(targets []string) []string {
	if len(targets) == 1 && d.isLocal(targets[0]) {
		return nil
	}

	return targets
}

func (d *director) forward(mode proxy.Mode, targets []string) (proxy.Mode, []proxy.Backend, error) {
	if d.remotes == nil {
		return proxy.One2One, nil, status.Error(codes.PermissionDenied, "no request forwarding")
	}

	backends := make([]proxy.Backend, 0, len(targets))

	for _, target := range targets {
		backend, err := d.remotes.get(target)
		if err != nil {
			return mode, nil, status.Error(codes.Internal, err.Error())
		}

		backends = append(backends, backend)
	}

	return mode, backends, nil
}

// Forwarded reports whether another node forwarded this call.
func Forwarded(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)

	return len(md[proxied]) > 0
}

// Target returns the node or nodes that the client named, "" for none.
func Target(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)

	return strings.Join(slices.Concat(md[nodeKey], md[nodesKey]), ",")
}

// streamed reports whether a method returns a stream. The list is that of Talos v1.12 (internal/app/apid/main.go).
func streamed(method string) bool {
	switch method {
	case "/machine.MachineService/Copy",
		"/machine.MachineService/DiskUsage",
		"/machine.MachineService/Dmesg",
		"/machine.MachineService/EtcdSnapshot",
		"/machine.MachineService/Events",
		"/machine.MachineService/ImageList",
		"/machine.MachineService/Kubeconfig",
		"/machine.MachineService/List",
		"/machine.MachineService/Logs",
		"/machine.MachineService/PacketCapture",
		"/machine.MachineService/Read",
		"/os.OSService/Dmesg",
		"/cluster.ClusterService/HealthCheck":
		return true
	default:
		return strings.HasSuffix(method, "Stream")
	}
}
