package provider

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// healthInterval is the time between two looks at whether the engine still runs. The plugin ends with it. em-infra cannot end it as it ends
// other plugins, by the folder of their programs: this one is started by a script, as another program.
const healthInterval = 5 * time.Second

// Serve serves the provider to the engine at an address until ctx ends. It writes its port to out, as the engine expects of a plugin
// (pulumi sdk/v3 v3.254.0, go/common/resource/plugin/plugin.go, newPlugin).
func Serve(ctx context.Context, engine string, out io.Writer) error {
	log := &engineLog{address: engine}
	defer log.close()
	ctx, end := context.WithCancel(ctx)
	defer end()
	cancel := make(chan bool)
	context.AfterFunc(ctx, func() { close(cancel) })
	if err := rpcutil.Healthcheck(ctx, engine, healthInterval, end); err != nil {
		return err
	}
	p := New(func(urn resource.URN, text string) { log.warn(ctx, urn, text) })
	handle, err := rpcutil.ServeWithOptions(rpcutil.ServeOptions{
		Cancel: cancel,
		Init: func(server *grpc.Server) error {
			pulumirpc.RegisterResourceProviderServer(server, plugin.NewProviderServer(p))
			return nil
		},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d\n", handle.Port)
	return <-handle.Done
}

// engineLog writes to the engine's log, which shows a line at its resource.
type engineLog struct {
	address string

	mu         sync.Mutex
	connection *grpc.ClientConn
}

// warn writes a warning. An engine that cannot be reached any more shows nothing anyway.
func (l *engineLog) warn(ctx context.Context, urn resource.URN, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connection == nil {
		connection, err := grpc.NewClient(l.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return
		}
		l.connection = connection
	}
	_, _ = pulumirpc.NewEngineClient(l.connection).Log(ctx, &pulumirpc.LogRequest{
		Severity: pulumirpc.LogSeverity_WARNING, Urn: string(urn), Message: text,
	})
}

func (l *engineLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connection != nil {
		_ = l.connection.Close() // the process ends
	}
}
