package components_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/siderolabs/crypto/x509"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

const (
	onlyControlPlane = "k3s-dev-control-1"
	onlyWorker       = "k3s-dev-worker-1"
)

func TestMain(m *testing.M) { talostest.Main(m) }

// somewhere is the cluster of nowhere with an emulated control plane on v1.12.4, and an API server that knows it.
type somewhere struct {
	*hookEngine
	*talostest.Cluster

	kubernetes *apiServer
}

// runSomewhere runs its program.
func runSomewhere(t *testing.T, changes ...func(*components.TalosClusterArgs)) *somewhere {
	t.Helper()
	s := &somewhere{Cluster: talostest.NewCluster(t, "v1.12.4", constants.DefaultKubernetesVersion, talos.Config{})}
	s.Join(talostest.First, onlyControlPlane, machinetype.TypeControlPlane)
	polltest.Until(t, func() bool {
		status, err := s.Admin(talostest.First).EtcdStatus(t.Context())
		return err == nil && status.GetMessages()[0].GetMemberStatus().GetLeader() != 0
	}, "etcd has no leader")
	s.kubernetes = serveKubernetes(t, s.Cluster)
	s.hookEngine = runHooked(t, nowhereWith(func(args *components.TalosClusterArgs) {
		args.Machines[0].Addresses = []netip.Prefix{netip.PrefixFrom(s.Address(talostest.First), 24)}
		args.Machines[1].Addresses = []netip.Prefix{netip.PrefixFrom(s.Address(talostest.First+1), 24)} // no server listens there
		args.Runs = func(_ context.Context, vmid int) (bool, error) { return vmid == args.Machines[0].VMID, nil }
		for _, change := range changes {
			change(args)
		}
	}), func(e *hookEngine) { e.administrator, e.stays = string(s.Talosconfig()), true })
	s.awaitHooks(t)
	return s
}

// apiServer knows one Node, which is Ready and has no pods.
type apiServer struct {
	mu       sync.Mutex
	cordoned bool
}

// serveKubernetes serves at the address of the first control plane, under the PKI of its cluster.
func serveKubernetes(t *testing.T, c *talostest.Cluster) *apiServer {
	t.Helper()
	authority, err := x509.NewCertificateAuthorityFromCertificateAndKey(c.Secrets().Certs.K8s)
	require.NoError(t, err)
	address := c.Address(talostest.First)
	pair, err := x509.NewKeyPair(authority, x509.IPAddresses([]net.IP{address.AsSlice()}), x509.NotAfter(time.Now().Add(time.Hour)))
	require.NoError(t, err)
	api := &apiServer{}
	server := httptest.NewUnstartedServer(api)
	require.NoError(t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(constants.DefaultControlPlanePort)))
	require.NoError(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*pair.Certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return api
}

// ServeHTTP implements [http.Handler].
func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Method == http.MethodPatch {
		var patch struct{ Spec struct{ Unschedulable bool } }
		if json.NewDecoder(r.Body).Decode(&patch) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.cordoned = patch.Spec.Unschedulable
	}
	annotations := map[string]string{}
	if a.cordoned {
		annotations[nodeops.CordonAnnotation] = "true"
	}
	node := map[string]any{
		"metadata": map[string]any{"name": onlyControlPlane, "annotations": annotations},
		"spec":     map[string]any{"unschedulable": a.cordoned},
		"status":   map[string]any{"conditions": []any{map[string]string{"type": "Ready", "status": "True"}}},
	}
	answer := any(node)
	switch {
	case strings.HasSuffix(r.URL.Path, "/nodes/"+onlyWorker):
		w.WriteHeader(http.StatusNotFound)
	case strings.HasSuffix(r.URL.Path, "/pods"):
		answer = map[string]any{"items": []any{}}
	case strings.HasSuffix(r.URL.Path, "/nodes"):
		answer = map[string]any{"items": []any{node}}
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that is gone
}

// isCordoned reports whether the control plane takes no pods.
func (a *apiServer) isCordoned() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cordoned
}

// fail calls the hook after a failed update of a node, and returns its error.
func (e *hookEngine) fail(t *testing.T, hook string) string {
	t.Helper()
	var answer pulumirpc.ErrorHookResponse
	e.call(t, hook, &pulumirpc.ErrorHookRequest{FailedOperation: "update"}, &answer)
	require.False(t, answer.GetRetry(), "what failed is not done again")
	return answer.GetError()
}

const closedLane = onlyWorker + " is untouched, because " + onlyControlPlane + " did not come back from its change: mend that node, then run up again"

// TestANodeWithAnotherReleaseThanItsImageIsUpgradedInTheLane, as after a rollback: the image is the same, and its Command upgrades the
// node all the same.
func TestANodeWithAnotherReleaseThanItsImageIsUpgradedInTheLane(t *testing.T) {
	t.Parallel()

	s := runSomewhere(t)
	require.Empty(t, s.upgrade(t, onlyControlPlane, "enter", image4, image4), "it runs that release")
	require.Empty(t, s.upgrade(t, onlyControlPlane, "leave", image4, image4))
	require.False(t, s.kubernetes.isCordoned())

	require.Empty(t, s.upgrade(t, onlyControlPlane, "enter", image11, image11))
	require.True(t, s.kubernetes.isCordoned(), "it was drained")
	require.Empty(t, s.fail(t, onlyControlPlane+"-upgrade-abandon"))
	require.False(t, s.kubernetes.isCordoned(), "it runs, and was not touched")
	require.Equal(t, closedLane, s.enter(t, onlyWorker), "it had a place in the lane")
}

// TestAnInterruptIsNoSilence: an interrupt must not make the node look silent, since it would then be upgraded outside of the lane.
func TestAnInterruptIsNoSilence(t *testing.T) {
	t.Parallel()

	interrupted := make(chan struct{})
	close(interrupted)
	s := runSomewhere(t, func(args *components.TalosClusterArgs) { args.Interrupted = interrupted })
	require.Equal(t, onlyControlPlane+" is untouched: the run was interrupted: run up again to go on", s.upgrade(t, onlyControlPlane, "enter", image11, image11))
}

// TestAnUntouchedNodeTakesPodsAgain when the change of its machine fails, and one that is down is named.
func TestAnUntouchedNodeTakesPodsAgain(t *testing.T) {
	t.Parallel()

	for name, isDown := range map[string]bool{"it runs": false, "it is down": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := runSomewhere(t)
			require.Empty(t, s.resize(t, onlyControlPlane))
			require.True(t, s.kubernetes.isCordoned(), "the change reboots it")
			if isDown {
				require.NoError(t, s.Fleet.PowerOff(talostest.First))
			}
			require.Empty(t, s.fail(t, onlyControlPlane+"-abandon"), "an error would hide the one of the change")
			require.Equal(t, isDown, s.kubernetes.isCordoned())
			warned := slices.ContainsFunc(s.messages(), func(text string) bool {
				return strings.HasPrefix(text, onlyControlPlane+" takes no new pods, because it was drained and does not run (its Talos API") &&
					strings.HasSuffix(text, "): mend that node, then run up again, or run `kubectl uncordon "+onlyControlPlane+"` when it runs")
			})
			require.Equal(t, isDown, warned, s.messages())
			require.Equal(t, closedLane, s.enter(t, onlyWorker))
		})
	}
}

// TestAWorkerThatWasMadeAnewWaitsForNoTurn: the drain of the node ahead of it may wait for room on exactly this one.
func TestAWorkerThatWasMadeAnewWaitsForNoTurn(t *testing.T) {
	t.Parallel()

	s := runSomewhere(t)
	s.PowerOn(talostest.First+1, onlyWorker)
	talostest.AwaitStage(t, s.Fleet, talostest.First+1, talos.StageMaintenance)
	require.Empty(t, s.resize(t, onlyControlPlane), "it has its place in the lane")
	require.Empty(t, s.birthWith(t, onlyWorker+"-enter", typeConfiguration, string(s.Configuration(machinetype.TypeWorker)), formerMark, newMark))
}

// resize calls the hook before an update that gives a machine more memory, and returns its refusal.
func (e *hookEngine) resize(t *testing.T, node string) string {
	t.Helper()
	inputs := func(memory float64) *structpb.Struct {
		made, err := structpb.NewStruct(map[string]any{"started": true, "memory": map[string]any{"dedicated": memory}})
		require.NoError(t, err)
		return made
	}
	var answer pulumirpc.ResourceHookResponse
	e.call(t, node+"-enter", &pulumirpc.ResourceHookRequest{
		Name: node + "-vm", Type: "proxmoxve:VM/virtualMachine:VirtualMachine", OldInputs: inputs(4096), NewInputs: inputs(8192),
	}, &answer)
	return answer.GetError()
}
