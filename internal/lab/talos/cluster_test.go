package talos_test

import (
	"strings"
	"sync"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	configres "github.com/siderolabs/talos/pkg/machinery/resources/config"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// cluster has one cluster's secrets and configurations.
type cluster struct {
	lab    *lab
	bundle *secrets.Bundle
	input  *generate.Input
}

// contract returns the machine configuration contract of the tests.
func contract() *config.VersionContract { return config.TalosVersion1_12 }

// The secrets of two clusters, generated once, because their RSA keys take most of the time of a test.
var (
	ourSecrets   = sync.OnceValues(newSecrets)
	theirSecrets = sync.OnceValues(newSecrets)
)

func newSecrets() (*secrets.Bundle, error) { return secrets.NewBundle(secrets.NewClock(), contract()) }

// cluster returns a cluster with secrets that all clusters of all labs share, except those of anotherCluster.
func (l *lab) cluster(name string, options ...generate.Option) *cluster {
	l.t.Helper()

	bundle, err := ourSecrets()
	require.NoError(l.t, err)

	return l.clusterWith(bundle, name, options...)
}

func (l *lab) anotherCluster(name string) *cluster {
	l.t.Helper()

	bundle, err := theirSecrets()
	require.NoError(l.t, err)

	return l.clusterWith(bundle, name)
}

func (l *lab) clusterWith(bundle *secrets.Bundle, name string, options ...generate.Option) *cluster {
	l.t.Helper()

	options = append([]generate.Option{
		generate.WithSecretsBundle(bundle), generate.WithVersionContract(contract()),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(installerImage),
	}, options...)

	input, err := generate.NewInput(name, "https://"+l.address(101).String()+":6443", constants.DefaultKubernetesVersion, options...)
	require.NoError(l.t, err)

	return &cluster{lab: l, bundle: bundle, input: input}
}

// config returns the configuration of one machine of the cluster, changed by the patches.
func (c *cluster) config(typ machinetype.Type, patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	generated, err := c.input.Config(typ)
	require.NoError(c.lab.t, err)

	raw := generated.RawV1Alpha1().DeepCopy()
	for _, patch := range patches {
		patch(raw)
	}

	data, err := container.NewV1Alpha1(raw).EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	require.NoError(c.lab.t, err)

	return data
}

func (c *cluster) controlPlane(patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	return c.config(machinetype.TypeControlPlane, patches...)
}

func (c *cluster) worker(patches ...func(*v1alpha1.Config)) []byte {
	c.lab.t.Helper()

	return c.config(machinetype.TypeWorker, patches...)
}

// as returns a client of one machine with a certificate of this role.
func (c *cluster) as(who role.Role, vmid int) *client.Client {
	c.lab.t.Helper()

	certificate, err := c.bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(who), time.Hour)
	require.NoError(c.lab.t, err)

	endpoint := c.lab.address(vmid).String()
	settings := clientconfig.NewConfig("test", []string{endpoint}, c.bundle.Certs.OS.Crt, certificate)

	// reconnect at once to a node that was away, without gRPC's usual delay
	impatient := grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}, MinConnectTimeout: patience,
	})

	made, err := client.New(c.lab.t.Context(), client.WithConfig(settings), client.WithGRPCDialOptions(impatient))
	require.NoError(c.lab.t, err)

	return c.lab.client(made)
}

// admin returns the client that a test uses for one machine throughout.
func (c *cluster) admin(vmid int) *client.Client {
	c.lab.t.Helper()

	key := adminKey{vmid, c.bundle}
	if c.lab.admins[key] == nil {
		c.lab.admins[key] = c.as(role.Admin, vmid)
	}

	return c.lab.admins[key]
}

// controlPlaneUp returns a cluster with one bootstrapped control plane, machine 101.
func (l *lab) controlPlaneUp(name string, options ...generate.Option) *cluster {
	l.t.Helper()

	c := l.cluster(name, options...)
	l.install(101, c.controlPlane())
	l.waitStage(101, talos.StageRunning)
	c.bootstrap(101)
	l.eventually(func() bool { _, err := c.listMembers(101); return err == nil }, "etcd does not start after the bootstrap")

	return c
}

// bootstrap retries until the container runtime is up, as the provider does.
func (c *cluster) bootstrap(vmid int) {
	c.lab.t.Helper()

	c.lab.eventually(func() bool {
		return c.admin(vmid).Bootstrap(c.lab.t.Context(), &machine.BootstrapRequest{}) == nil
	}, "machine %d cannot be bootstrapped", vmid)
}

// waitAPI waits until the secure API of a machine answers.
func (c *cluster) waitAPI(vmid int) {
	c.lab.t.Helper()
	c.lab.eventually(func() bool {
		_, err := c.admin(vmid).Version(c.lab.t.Context())

		return err == nil
	}, "the secure API of machine %d does not answer", vmid)
}

// serviceState returns the state of a service in the API, and its health; "" while the API does not answer.
func (c *cluster) serviceState(vmid int, id string) (string, bool) {
	c.lab.t.Helper()

	info, err := c.admin(vmid).ServiceInfo(c.lab.t.Context(), id)
	if err != nil || len(info) == 0 {
		return "", false
	}

	return info[0].Service.GetState(), info[0].Service.GetHealth().GetHealthy()
}

func (c *cluster) waitHealthy(vmid int, id string) {
	c.lab.t.Helper()
	c.lab.eventually(func() bool {
		state, healthy := c.serviceState(vmid, id)

		return state == "Running" && healthy
	}, "service %s of machine %d is not healthy", id, vmid)
}

// runsBy reports whether a node's active configuration contains a text. It does not show the configuration, which contains
// secrets.
func (c *cluster) runsBy(vmid int, text string) bool {
	c.lab.t.Helper()

	found, err := safe.StateGetByID[*configres.MachineConfig](c.lab.t.Context(), c.admin(vmid).COSI, configres.ActiveID)
	require.NoError(c.lab.t, err)

	data, err := found.Provider().EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
	require.NoError(c.lab.t, err)

	return strings.Contains(string(data), text)
}
