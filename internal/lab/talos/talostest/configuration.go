package talostest

import (
	"net/netip"
	"testing"
	"time"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"
)

// Schematic is that of the Image Factory without extensions and kernel arguments.
const Schematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

// Installer returns the installer image of a release and a schematic.
func Installer(schematic, release string) string {
	return "factory.talos.dev/nocloud-installer/" + schematic + ":" + release
}

// Generated is what a machine configuration is generated from.
type Generated struct {
	Secrets *secrets.Bundle
	// Cluster is its name.
	Cluster string
	// Endpoint is the address of the first control plane.
	Endpoint netip.Addr
	// Talos is a release such as v1.12.4, Kubernetes a version such as 1.35.4.
	Talos, Kubernetes string
}

// Configuration returns the configuration of a node, changed by the patches.
func (g Generated) Configuration(t testing.TB, kind machinetype.Type, patches ...func(*v1alpha1.Config)) []byte {
	t.Helper()
	input, err := generate.NewInput(g.Cluster, "https://"+g.Endpoint.String()+":6443", g.Kubernetes,
		generate.WithSecretsBundle(g.Secrets), generate.WithVersionContract(config.TalosVersion1_12),
		generate.WithInstallDisk("/dev/sda"), generate.WithInstallImage(Installer(Schematic, g.Talos)))
	require.NoError(t, err)
	generated, err := input.Config(kind)
	require.NoError(t, err)
	raw := generated.RawV1Alpha1()
	for _, patch := range patches {
		patch(raw)
	}
	text, err := container.NewV1Alpha1(raw).Bytes()
	require.NoError(t, err)
	return text
}

// NewSecrets makes the secrets of a cluster. That takes most of the time of a test, so its package makes them once.
func NewSecrets() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
}

// Administrator returns the talosconfig of a cluster's administrator, which is valid for an hour.
func Administrator(t testing.TB, bundle *secrets.Bundle, cluster string, endpoints ...netip.Addr) *clientconfig.Config {
	t.Helper()
	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(role.MakeSet(role.Admin), time.Hour)
	require.NoError(t, err)
	var texts []string
	for _, endpoint := range endpoints {
		texts = append(texts, endpoint.String())
	}
	return clientconfig.NewConfig(cluster, texts, bundle.Certs.OS.Crt, certificate)
}
