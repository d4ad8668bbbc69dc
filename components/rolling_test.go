package components_test

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/internal/recorder"
)

// talosconfig of a cluster that does not exist, with a key made for these tests.
var talosconfig = sync.OnceValues(func() (string, error) {
	bundle, err := secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
	if err != nil {
		return "", err
	}
	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	if err != nil {
		return "", err
	}
	text, err := clientconfig.NewConfig("k3s-dev", []string{"127.0.0.1"}, bundle.Certs.OS.Crt, certificate).Bytes()
	return string(text), err
})

// hookEngine is an engine for what the SDK's mocks cannot do: it takes hooks. Everything that is registered exists at
// once, with its inputs as its outputs.
type hookEngine struct {
	pulumirpc.UnimplementedResourceMonitorServer
	pulumirpc.UnimplementedEngineServer

	mu    sync.Mutex
	root  string
	hooks map[string]*pulumirpc.Callback                                     // by name
	bound map[string]*pulumirpc.RegisterResourceRequest_ResourceHooksBinding // by the resource's name

	onDryRun map[string]bool // the hooks that a preview calls, too

	administrator string // the talosconfig of the cluster; empty for that of a cluster that does not exist
	stays         bool   // whether the program runs until the test ends, as in an update: only then its messages arrive
	reported      []string
	onReport      func(message string) // nil for nothing

	parallel int32 // how many resources it works on at once; 0 if it does not report that

	holds func(resource string) // returns when a resource may be registered; nil for at once
}

func (e *hookEngine) SupportsFeature(context.Context, *pulumirpc.SupportsFeatureRequest) (*pulumirpc.SupportsFeatureResponse, error) {
	return &pulumirpc.SupportsFeatureResponse{HasSupport: true}, nil
}

func (e *hookEngine) RegisterResource(_ context.Context, in *pulumirpc.RegisterResourceRequest) (*pulumirpc.RegisterResourceResponse, error) {
	if e.holds != nil {
		e.holds(in.GetName())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if in.GetHooks() != nil {
		e.bound[in.GetName()] = in.GetHooks()
	}
	id, err := recorder.ID(in.GetType(), in.GetName(), in.GetObject().AsMap())
	return &pulumirpc.RegisterResourceResponse{
		Urn: "urn:pulumi:test::em-infra::" + in.GetType() + "::" + in.GetName(), Id: id, Object: in.GetObject(),
	}, err
}

func (e *hookEngine) RegisterResourceOutputs(context.Context, *pulumirpc.RegisterResourceOutputsRequest) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

func (e *hookEngine) Invoke(context.Context, *pulumirpc.ResourceInvokeRequest) (*pulumirpc.InvokeResponse, error) {
	text, err := talosconfig()
	if err != nil {
		return nil, err
	}
	answer, err := structpb.NewStruct(map[string]any{"machineConfiguration": "machine configuration", "talosConfig": cmp.Or(e.administrator, text)})
	return &pulumirpc.InvokeResponse{Return: answer}, err
}

func (e *hookEngine) RegisterResourceHook(_ context.Context, in *pulumirpc.RegisterResourceHookRequest) (*emptypb.Empty, error) {
	if in.GetOnDryRun() {
		e.mu.Lock()
		e.onDryRun[in.GetName()] = true
		e.mu.Unlock()
	}
	return e.keep(in.GetName(), in.GetCallback())
}

func (e *hookEngine) RegisterErrorHook(_ context.Context, in *pulumirpc.RegisterErrorHookRequest) (*emptypb.Empty, error) {
	return e.keep(in.GetName(), in.GetCallback())
}

func (e *hookEngine) keep(name string, callback *pulumirpc.Callback) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hooks[name] = callback
	return &emptypb.Empty{}, nil
}

func (e *hookEngine) SetRootResource(_ context.Context, in *pulumirpc.SetRootResourceRequest) (*pulumirpc.SetRootResourceResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.root = in.GetUrn()
	return &pulumirpc.SetRootResourceResponse{}, nil
}

func (e *hookEngine) GetRootResource(context.Context, *pulumirpc.GetRootResourceRequest) (*pulumirpc.GetRootResourceResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &pulumirpc.GetRootResourceResponse{Urn: e.root}, nil
}

func (e *hookEngine) Log(_ context.Context, in *pulumirpc.LogRequest) (*emptypb.Empty, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reported = append(e.reported, in.GetMessage())
	if e.onReport != nil {
		e.onReport(in.GetMessage())
	}
	return &emptypb.Empty{}, nil
}

// staying lets the program run until the test ends.
func staying(e *hookEngine) { e.stays = true }

// whenReported does something at the first message with a text.
func (e *hookEngine) whenReported(text string, do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onReport = func(message string) {
		if strings.Contains(message, text) {
			e.onReport = nil
			do()
		}
	}
}

// said returns the messages of the program so far.
func (e *hookEngine) messages() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.reported)
}

// runHooked runs a program against an engine that takes hooks.
func runHooked(t *testing.T, p program, changes ...func(*hookEngine)) *hookEngine {
	t.Helper()
	e := &hookEngine{
		hooks: map[string]*pulumirpc.Callback{}, bound: map[string]*pulumirpc.RegisterResourceRequest_ResourceHooksBinding{},
		onDryRun: map[string]bool{},
	}
	for _, change := range changes {
		change(e)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer()
	pulumirpc.RegisterResourceMonitorServer(server, e)
	pulumirpc.RegisterEngineServer(server, e)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-served)
	})
	registered, over, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- pulumi.RunErr(func(ctx *pulumi.Context) error {
			providers, err := providers(ctx)
			if err != nil {
				return err
			}
			if err := p(ctx, providers); err != nil || !e.stays {
				return err
			}
			close(registered)
			<-over
			return nil
		}, func(info *pulumi.RunInfo) {
			info.Project, info.Stack, info.Parallel = "em-infra", "test", e.parallel
			info.MonitorAddr, info.EngineAddr = listener.Addr().String(), listener.Addr().String()
		})
	}()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-registered:
		t.Cleanup(func() {
			close(over)
			require.NoError(t, <-ended)
		})
	}
	return e
}

// call calls a hook as the engine does.
func (e *hookEngine) call(t *testing.T, name string, request, response proto.Message) {
	t.Helper()
	require.Contains(t, e.hooks, name)
	callback := e.hooks[name]
	connection, err := grpc.NewClient(callback.GetTarget(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close()) }()
	body, err := proto.Marshal(request)
	require.NoError(t, err)
	answer, err := pulumirpc.NewCallbacksClient(connection).Invoke(t.Context(), &pulumirpc.CallbackInvokeRequest{Token: callback.GetToken(), Request: body})
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(answer.GetResponse(), response))
}

// hooksOfTwo is the number of hooks of a cluster with one control plane and one worker.
const hooksOfTwo = 17

// awaitHooks waits for the hooks of such a cluster, whose program still runs.
func (e *hookEngine) awaitHooks(t *testing.T) {
	t.Helper()
	polltest.Until(t, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.hooks) == hooksOfTwo
	}, "not all hooks are there")
}

func TestF4F5EveryUpdateOfANodeGoesThroughTheLane(t *testing.T) {
	t.Parallel()

	e := runHooked(t, discard(oneAndOne("k3s-dev")))
	require.Equal(t, []string{
		"k3s-dev", "k3s-dev-control-1-configuration", "k3s-dev-control-1-membership", "k3s-dev-control-1-vm", "k3s-dev-kubernetes",
		"k3s-dev-worker-1-configuration", "k3s-dev-worker-1-membership", "k3s-dev-worker-1-vm",
	}, slices.Sorted(maps.Keys(e.bound)))
	for resource, bound := range e.bound {
		if resource == "k3s-dev" {
			continue // TestABirthFactIsKept
		}
		require.Empty(t, bound.GetAfterCreate(), "creation is parallel")
		require.Empty(t, bound.GetBeforeDelete(), "a stack with such hooks is not destroyed without its program")
		require.Empty(t, bound.GetAfterDelete(), "a stack with such hooks is not destroyed without its program")
		if node, isMembership := strings.CutSuffix(resource, "-membership"); isMembership {
			require.Equal(t, []string{node + "-upgrade-enter"}, bound.GetBeforeUpdate())
			require.Equal(t, []string{node + "-upgrade-leave"}, bound.GetAfterUpdate())
			require.Equal(t, []string{node + "-upgrade-abandon"}, bound.GetOnError())
			require.Empty(t, bound.GetBeforeCreate(), "a new node is installed with its release")
			continue
		}
		if resource == "k3s-dev-kubernetes" {
			require.Equal(t, []string{"k3s-dev-kubernetes-upgrade"}, bound.GetBeforeUpdate(), "it takes the whole lane")
			require.Empty(t, bound.GetAfterUpdate())
			require.Empty(t, bound.GetOnError())
			require.Empty(t, bound.GetBeforeCreate(), "a new cluster starts with its version")
			continue
		}
		node, _, _ := strings.Cut(strings.TrimSuffix(resource, "-configuration"), "-vm")
		before := []string{node + "-enter"}
		if node == "k3s-dev-control-1" {
			before = []string{node + "-loss", node + "-enter"} // the only one
		}
		require.Equal(t, before, bound.GetBeforeUpdate())
		require.Equal(t, []string{node + "-leave"}, bound.GetAfterUpdate())
		require.Equal(t, []string{node + "-abandon"}, bound.GetOnError())
		require.Equal(t, []string{node + "-boots"}, bound.GetBeforeCreate(), "the lane is for updates: creation is parallel")
	}
	require.Len(t, e.hooks, hooksOfTwo)
}

func TestTheHooksOfTwoClustersDoNotCollide(t *testing.T) {
	t.Parallel()

	e := runHooked(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		if _, err := oneAndOne("home")(ctx, providers); err != nil {
			return err
		}
		_, err := oneAndOne("office")(ctx, providers)
		return err
	})
	require.Len(t, e.hooks, 2*hooksOfTwo)
}

// nowhere returns a cluster of one control plane and one worker at addresses without a server.
func nowhere(interrupted <-chan struct{}) program { return nowhereThatRuns(interrupted, false) }

// nowhereThatRuns is nowhere with machines that the host reports as running.
func nowhereThatRuns(interrupted <-chan struct{}, runs bool) program {
	return nowhereWith(func(args *components.TalosClusterArgs) {
		args.Interrupted = interrupted
		args.Runs = func(context.Context, int) (bool, error) { return runs, nil }
	})
}

// nowhereWith is such a cluster with other arguments.
func nowhereWith(change func(*components.TalosClusterArgs)) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		control := machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11)
		control.Addresses = []netip.Prefix{netip.MustParsePrefix("127.193.20.11/24")} // no server listens here
		args := clusterFixture("k3s-dev", control, machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
		args.Network.Subnets = append(args.Network.Subnets, netip.MustParsePrefix("127.0.0.0/8"))
		args.Templates = []*components.TalosTemplate{template}
		change(args)
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	}
}

// enter calls the hook before an update, and returns its refusal.
func (e *hookEngine) enter(t *testing.T, node string) string {
	t.Helper()
	var answer pulumirpc.ResourceHookResponse
	e.call(t, node+"-enter", &pulumirpc.ResourceHookRequest{Name: node + "-vm"}, &answer)
	return answer.GetError()
}

// secondCall returns runs with a side effect: the second call also calls do. By then the caller waits.
func secondCall(do func(), runs func(context.Context, int) (bool, error)) func(context.Context, int) (bool, error) {
	var calls atomic.Int32
	return func(ctx context.Context, vmid int) (bool, error) {
		if calls.Add(1) == 2 {
			do()
		}
		return runs(ctx, vmid)
	}
}

func TestAnInterruptKeepsNodesFromTheirTurn(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	e := runHooked(t, nowhere(interrupted), staying)
	e.awaitHooks(t)
	require.Empty(t, e.enter(t, "k3s-dev-control-1"), "nothing runs at these addresses that could be lost")
	e.whenReported("waits for its turn", func() { close(interrupted) })
	require.Equal(t, "k3s-dev-worker-1 is untouched: the run was interrupted: run up again to go on", e.enter(t, "k3s-dev-worker-1"))
}

func TestMachinesThatRunAndDoNotAnswerAreNotChanged(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	runs := secondCall(func() { close(interrupted) }, func(context.Context, int) (bool, error) { return true, nil })
	e := runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) { args.Interrupted, args.Runs = interrupted, runs }))
	require.Equal(t, "k3s-dev-control-1 is untouched: the run was interrupted: run up again to go on", e.enter(t, "k3s-dev-control-1"))
}

func TestOnlyAFailedUpdateClosesTheLane(t *testing.T) {
	t.Parallel()

	e := runHooked(t, nowhere(nil))
	failed := func(operation string) {
		t.Helper()
		var answer pulumirpc.ErrorHookResponse
		e.call(t, "k3s-dev-control-1-abandon", &pulumirpc.ErrorHookRequest{Name: "k3s-dev-control-1-vm", FailedOperation: operation}, &answer)
		require.Empty(t, answer.GetError())
		require.False(t, answer.GetRetry(), "what failed is not done again")
	}

	failed("create")
	require.Empty(t, e.enter(t, "k3s-dev-worker-1"), "nothing runs at these addresses that could be lost")
	failed("update")
	require.Equal(t, "k3s-dev-worker-1 is untouched, because k3s-dev-control-1 did not come back from its change: mend that node, then run up again", e.enter(t, "k3s-dev-worker-1"))
}

// TestAnInterruptEndsTheWaitOfMachinesThatWereMadeAnew: one waits for a control plane that knows its former member, the other for its turn to
// change etcd's members. The waits are not reported, and an interrupt that comes before them leads to the same refusals.
func TestAnInterruptEndsTheWaitOfMachinesThatWereMadeAnew(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	e := runHooked(t, nowhere(interrupted), staying)
	e.awaitHooks(t)
	time.AfterFunc(200*time.Millisecond, func() { close(interrupted) })
	refusals := make([]string, 2)
	var both sync.WaitGroup
	for i, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
		both.Go(func() { refusals[i] = e.birth(t, node+"-enter", typeConfiguration, formerMark, newMark) })
	}
	both.Wait()
	for _, refusal := range refusals {
		require.Contains(t, refusal, "the run was interrupted: run up again to go on")
	}
}

// TestANoteWaitsForNoTurn: a cluster that was made before the marks of owners existed gets them while one of its nodes is down.
func TestANoteWaitsForNoTurn(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	close(interrupted) // waiting machines are refused
	e := runHooked(t, nowhereThatRuns(interrupted, true))
	update := func(hook string, description string, memory float64) string {
		before := map[string]any{"description": "Talos worker, made by em-infra.", "memory": map[string]any{"dedicated": 4096.0}}
		after := map[string]any{"description": description, "memory": map[string]any{"dedicated": memory}}
		request := &pulumirpc.ResourceHookRequest{Name: "k3s-dev-worker-1-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine"}
		var err error
		request.OldInputs, err = structpb.NewStruct(before)
		require.NoError(t, err)
		request.NewInputs, err = structpb.NewStruct(after)
		require.NoError(t, err)
		var answer pulumirpc.ResourceHookResponse
		e.call(t, "k3s-dev-worker-1-"+hook, request, &answer)
		return answer.GetError()
	}
	const marked = "Talos worker, made by em-infra for stack test, cluster 0123456789ab."
	require.Empty(t, update("enter", marked, 4096))
	require.Empty(t, update("leave", marked, 4096))
	require.Contains(t, update("enter", marked, 8192), "k3s-dev-worker-1 is untouched")
}

// TestAnEmptyDiskTakesNoPlaceOfAnUnpluggedOne: `pulumi up` does not assess its plan, so the hook refuses the update.
func TestAnEmptyDiskTakesNoPlaceOfAnUnpluggedOne(t *testing.T) {
	t.Parallel()

	e := runHooked(t, nowhere(nil))
	system := map[string]any{"interface": "scsi0", "size": 32.0}
	enter := func(second map[string]any) string {
		request := &pulumirpc.ResourceHookRequest{Name: "k3s-dev-worker-1-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine"}
		var err error
		request.OldInputs, err = structpb.NewStruct(map[string]any{"vmId": 121.0, "disks": []any{system, second}})
		require.NoError(t, err)
		request.NewInputs, err = structpb.NewStruct(map[string]any{
			"vmId": 121.0, "disks": []any{system, map[string]any{"interface": "scsi1", "size": 20.0}},
		})
		require.NoError(t, err)
		var answer pulumirpc.ResourceHookResponse
		e.call(t, "k3s-dev-worker-1-enter", request, &answer)
		return answer.GetError()
	}
	require.Equal(t, "k3s-dev-worker-1: disk scsi1 was unplugged by hand: the provider would put an empty one in its place: "+
		"plug scsi1 of VM 121 in again, which Proxmox VE shows as an unused disk, then run up again; the machine was not touched",
		enter(map[string]any{"interface": ""}))
	require.Empty(t, enter(map[string]any{"interface": "scsi1", "size": 10.0}), "one that grows is no stranger")
}
