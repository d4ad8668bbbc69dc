package nodeops_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// member returns the machine as a node of the lane: the cluster's only control plane.
func (m *machineUnderTest) member() rolling.Node {
	return rolling.Node{Name: "k3s-dev-control-1", Address: m.address, ControlPlane: true}
}

// worker returns another node of the cluster, at an address where nothing listens.
func worker(name string) rolling.Node {
	return rolling.Node{Name: name, Address: netip.MustParseAddr("127.0.0.1")}
}

// health returns the Health of a cluster with the machine and two workers.
func (m *machineUnderTest) health() nodeops.Health {
	return nodeops.Health{
		Talosconfig: talosconfigOf(m.t, secretsOf(m.t, ours), m.address),
		Nodes:       []rolling.Node{m.member(), worker("worker-1"), worker("worker-2")},
		Runs: func(_ context.Context, node rolling.Node) (bool, error) {
			if node.Name != m.member().Name {
				return true, nil
			}
			return m.fleet.Nodes()[0].Stage != talos.StageOff, nil
		},
	}
}

// bringUp turns the machine into a cluster with a running etcd.
func (m *machineUnderTest) bringUp() {
	m.t.Helper()
	bundle := secretsOf(m.t, ours)
	m.apply(bundle)
	m.waitFor(talos.StageRunning)
	m.bootstrap(bundle)
	m.eventually(func() error {
		seen, err := m.health().Observe(m.t.Context(), m.address.String())
		if err == nil && seen.Stage != "running" {
			err = context.DeadlineExceeded
		}
		return err
	})
}

func (m *machineUnderTest) eventually(holds func() error) {
	m.t.Helper()
	polltest.Succeeds(m.t, holds)
}

// nodeList is an API server's response for Nodes and for its own static pods. The text may change.
type nodeList struct{ text, pods atomic.Value }

// setPods sets the configuration version of the static pods, and the reason of a pod that is not Ready.
func (l *nodeList) setPods(apiServer, waiting string) {
	var items []string
	for _, id := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		version, ready, why := "1", "True", ""
		if id == "kube-apiserver" {
			version = apiServer
			if waiting != "" {
				ready, why = "False", `"containerStatuses":[{"state":{"waiting":{"reason":"`+waiting+`"}}}],`
			}
		}
		items = append(items, `{"metadata":{"name":"`+id+`-k3s-dev-control-1","annotations":{"talos.dev/config-version":"`+version+
			`","talos.dev/config-file-version":"1111","talos.dev/secrets-version":"1"}},"status":{`+why+`"conditions":[{"type":"Ready","status":"`+ready+`"}]}}`)
	}
	l.pods.Store(`{"items":[` + strings.Join(items, ",") + `]}`)
}

func (l *nodeList) set(nodes ...string) {
	l.text.Store(`{"items":[` + strings.Join(nodes, ",") + `]}`)
}

func nodeObject(t *testing.T, name string, ready bool, bootID string) string {
	t.Helper()
	condition := map[string]string{"type": "Ready", "status": map[bool]string{true: "True", false: "Unknown"}[ready]}
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]string{"name": name},
		"status":   map[string]any{"conditions": []any{condition}, "nodeInfo": map[string]string{"bootID": bootID}},
	})
	require.NoError(t, err)
	return string(text)
}

// serveKubernetes starts an API server with Nodes on the machine's own address.
func (m *machineUnderTest) serveKubernetes() *nodeList {
	m.t.Helper()
	list := &nodeList{}
	list.set()
	list.setPods("1", "")
	m.serveAPI(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := list.text.Load().(string)
		if strings.HasSuffix(r.URL.Path, "/pods") {
			text = list.pods.Load().(string)
		}
		if _, err := io.WriteString(w, text); err != nil {
			m.t.Errorf("answer %s: %v", r.URL, err)
		}
	}))
	return list
}

// serveAPI serves at the address of an API server on the machine, under the cluster's PKI.
func (m *machineUnderTest) serveAPI(handler http.Handler) {
	m.t.Helper()
	m.serveAPIUnder(secretsOf(m.t, ours), handler)
}

// serveAPIUnder is serveAPI under the PKI of a cluster.
func (m *machineUnderTest) serveAPIUnder(bundle *secrets.Bundle, handler http.Handler) {
	m.t.Helper()
	authority, err := x509.NewCertificateAuthorityFromCertificateAndKey(bundle.Certs.K8s)
	require.NoError(m.t, err)
	pair, err := x509.NewKeyPair(authority, x509.IPAddresses([]net.IP{m.address.AsSlice()}), x509.NotAfter(time.Now().Add(time.Hour)))
	require.NoError(m.t, err)
	server := httptest.NewUnstartedServer(handler)
	require.NoError(m.t, server.Listener.Close())
	server.Listener, err = net.Listen("tcp", net.JoinHostPort(m.address.String(), strconv.Itoa(constants.DefaultControlPlanePort)))
	require.NoError(m.t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*pair.Certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	m.t.Cleanup(server.Close)
}

func (m *machineUnderTest) boot() string {
	m.t.Helper()
	api, err := client.New(m.t.Context(), client.WithConfig(adminOf(m.t, secretsOf(m.t, ours), m.address)))
	require.NoError(m.t, err)
	defer api.Close()
	reader, err := api.Read(m.t.Context(), "/proc/sys/kernel/random/boot_id")
	require.NoError(m.t, err)
	text, err := io.ReadAll(reader)
	require.NoError(m.t, err)
	return strings.TrimSpace(string(text))
}

func TestAClusterThatWasNotBootstrappedHasNothingToLose(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
	require.NoError(t, err, "in maintenance mode")
	require.Equal(t, rolling.Terms{}, terms)

	m.apply(secretsOf(t, ours))
	m.waitFor(talos.StageRunning)
	terms, err = m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
	require.NoError(t, err, "installed")
	require.Equal(t, rolling.Terms{}, terms)
}

func TestAClusterThatDoesNotKnowUsMayHaveAllToLose(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	health := m.health()
	health.Talosconfig = talosconfigOf(t, secretsOf(t, theirs), m.address)
	_, err := health.Spare(t.Context(), rolling.Change{Node: worker("worker-1")}, nil)
	require.ErrorContains(t, err, "k3s-dev-control-1: its Talos API is not this cluster")
	health.Talosconfig = nil
	_, err = health.Spare(t.Context(), rolling.Change{Node: worker("worker-1")}, nil)
	require.ErrorIs(t, err, nodeops.ErrTalosconfig)
}

func TestTheOnlyControlPlaneIsSparedAndHasToComeBack(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Reboots: true}, nil)
	require.NoError(t, err, "its own API server does not answer: that is no reason not to mend it")
	require.False(t, terms.Drain, "nobody could be asked to move pods")
	require.EqualError(t, terms.Back(t.Context()), "its Kubernetes API: it does not answer")
	m.serveKubernetes()
	require.NoError(t, terms.Back(t.Context()))

	require.NoError(t, m.fleet.PowerOff(vmid))
	require.ErrorContains(t, terms.Back(t.Context()), "its Talos API")

	_, err = m.health().Spare(t.Context(), rolling.Change{Node: worker("worker-1")}, nil)
	require.NoError(t, err, "all of it is off")
}

func TestAConfigurationThatRebootsIsNotAppliedBeforeTheReboot(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	seen, err := m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	immediate := strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    sysctls: {vm.max_map_count: \"262144\"}\n", 1)
	rebooting := strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    udev: {rules: ['SUBSYSTEM==\"drm\", MODE=\"0660\"']}\n", 1)

	m.serveKubernetes()
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: []byte(immediate)}, nil)
	require.NoError(t, err)
	require.NoError(t, terms.Back(t.Context()), "nothing to wait for")

	terms, err = m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: []byte(rebooting)}, nil)
	require.NoError(t, err)
	require.EqualError(t, terms.Back(t.Context()), "it has not rebooted yet")
	api, err := client.New(t.Context(), client.WithConfig(adminOf(t, secretsOf(t, ours), m.address)))
	require.NoError(t, err)
	require.NoError(t, api.Reboot(t.Context()))
	require.NoError(t, api.Close())
	m.eventually(func() error { return terms.Back(t.Context()) })
}

// TestAStagedConfigurationComesWithTheNextBoot: a machine that reboots anyway reboots once for both changes.
func TestAStagedConfigurationComesWithTheNextBoot(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	m.serveKubernetes()
	seen, err := m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	immediate := strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    sysctls: {vm.max_map_count: \"262144\"}\n", 1)
	rebooting := strings.Replace(string(seen.Configuration), "machine:\n", "machine:\n    udev: {rules: ['SUBSYSTEM==\"drm\", MODE=\"0660\"']}\n", 1)

	staged, err := m.health().Stage(t.Context(), m.member(), []byte(immediate))
	require.NoError(t, err)
	require.False(t, staged, "it is applied when its turn comes, without a reboot")
	require.NotEmpty(t, seen.Kubelet)
	upgrading := strings.ReplaceAll(rebooting, ":"+seen.Kubelet, ":v1.34.1")
	require.NotEqual(t, rebooting, upgrading)
	staged, err = m.health().Stage(t.Context(), m.member(), []byte(upgrading))
	require.NoError(t, err)
	require.False(t, staged, "Kubernetes is upgraded component by component, not with a boot")
	staged, err = m.health().Stage(t.Context(), m.member(), []byte(rebooting))
	require.NoError(t, err)
	require.True(t, staged)
	now, err := m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	require.False(t, strings.Contains(string(now.Configuration), `drm", MODE`), "until then nothing changes")

	require.NoError(t, m.health().Reboot(t.Context(), m.member()))
	m.eventually(func() error {
		terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member(), Configuration: []byte(rebooting)}, nil)
		if err != nil {
			return err
		}
		return terms.Back(t.Context()) // it would return "it has not rebooted yet" if the boot had still to end
	})
	now, err = m.health().Observe(t.Context(), m.address.String())
	require.NoError(t, err)
	require.True(t, strings.Contains(string(now.Configuration), `drm", MODE`))
}

func TestNodesHaveToBeReadyWhereAnyIs(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	own := nodeObject(t, "k3s-dev-control-1", true, boot)
	spare := func(node rolling.Node, busy ...rolling.Node) error {
		t.Helper()
		_, err := m.health().Spare(t.Context(), rolling.Change{Node: node}, busy)
		return err
	}

	list.set(own, nodeObject(t, "worker-1", false, ""), nodeObject(t, "elsewhere", false, ""))
	require.EqualError(t, spare(m.member()), "node worker-1 is not Ready")
	require.EqualError(t, spare(worker("worker-2")), "node worker-1 is not Ready", "a Node that is not there yet is not missed, one of others does not count")
	require.NoError(t, spare(worker("worker-1")), "the one that is down may be mended")
	require.NoError(t, spare(worker("worker-2"), worker("worker-1")), "it is being changed")

	list.set(nodeObject(t, "k3s-dev-control-1", false, ""), nodeObject(t, "worker-1", false, ""))
	require.NoError(t, spare(m.member()), "without a network no Node is Ready")
}

func TestANodeIsBackWhenItsKubeletSaysSo(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	list, boot := m.serveKubernetes(), m.boot()
	list.set(nodeObject(t, "k3s-dev-control-1", true, boot))
	terms, err := m.health().Spare(t.Context(), rolling.Change{Node: m.member()}, nil)
	require.NoError(t, err)

	require.NoError(t, terms.Back(t.Context()))
	list.set(nodeObject(t, "k3s-dev-control-1", true, "the boot before"))
	require.EqualError(t, terms.Back(t.Context()), "its kubelet has not reported since the reboot")
	list.set(nodeObject(t, "k3s-dev-control-1", false, boot))
	require.EqualError(t, terms.Back(t.Context()), "its Node is not Ready")
	list.set()
	require.EqualError(t, terms.Back(t.Context()), "no Node has its name")
}
