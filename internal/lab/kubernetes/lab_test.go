package kubernetes_test

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/loopbacktest"
)

// etcdCluster is the ID of the etcd in all tests. Each test has its own folder.
const etcdCluster = "0123456789abcdef"

// The secrets of two clusters, generated once, because their RSA keys take most of the time of a test.
var (
	ourSecrets   = sync.OnceValues(newSecrets)
	theirSecrets = sync.OnceValues(newSecrets)
)

func newSecrets() (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
}

// site is a network with machines on it, and one cluster's machine configurations.
type site struct {
	t       testing.TB
	network netip.Prefix
	input   *generate.Input
}

// newSite returns a site with its endpoint on .10 of a free network.
func newSite(t testing.TB, bundle func() (*secrets.Bundle, error)) *site {
	t.Helper()
	network := loopbacktest.Network(t)
	made, err := bundle()
	require.NoError(t, err)
	input, err := generate.NewInput("k3s-dev", "https://"+number(network, 10).String()+":6443", constants.DefaultKubernetesVersion,
		generate.WithSecretsBundle(made), generate.WithVersionContract(config.TalosVersion1_12),
		generate.WithAdditionalSubjectAltNames([]string{"api.example.org"}))
	require.NoError(t, err)
	return &site{t: t, network: network, input: input}
}

func number(network netip.Prefix, last byte) netip.Addr {
	bytes := network.Addr().As4()
	bytes[3] = last
	return netip.AddrFrom4(bytes)
}

// config returns the configuration of a machine, changed by the patches.
func (s *site) config(kind machine.Type, patches ...func(*v1alpha1.Config)) config.Provider {
	s.t.Helper()
	cfg, err := s.input.Config(kind)
	require.NoError(s.t, err)
	raw := cfg.RawV1Alpha1()
	for _, patch := range patches {
		patch(raw)
	}
	return container.NewV1Alpha1(raw)
}

// node returns a running machine with a running kubelet. VMID 101 has the address .11.
func (s *site) node(vmid int, kind machine.Type, patches ...func(*v1alpha1.Config)) talos.KubernetesNode {
	s.t.Helper()
	name := fmt.Sprintf("node-%d", vmid)
	node := talos.KubernetesNode{
		Hardware: talos.Hardware{
			VMID: vmid, Name: name, CPUs: 4, MemoryMiB: 8192,
			Disks:     []talos.Disk{{ID: name, Bytes: 64 << 30}},
			CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(number(s.network, byte(vmid-90)), 24)}},
		},
		Hostname: name, FQDN: name, Config: s.config(kind, patches...),
		Release:  talos.Release{Version: "v1.12.4", Extensions: []talos.Extension{{Name: "siderolabs/qemu-guest-agent", Version: "10.0.2"}}},
		Identity: name, BootID: "first-boot", Kubelet: true,
	}
	node.KubeletImage = node.Config.Machine().Kubelet().Image()
	if kind.IsControlPlane() {
		node.EtcdCluster = etcdCluster
	}
	return node
}
