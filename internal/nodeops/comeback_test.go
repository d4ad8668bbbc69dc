package nodeops_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

func TestTheOnlyControlPlaneThatWasMadeAnewHasLostEtcd(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	require.True(t, nodeops.InMaintenance(t.Context(), m.address.String()))
	require.ErrorIs(t, m.health().ForgetFormer(t.Context(), m.member()), nodeops.ErrEtcdLost)

	m.bringUp()
	require.False(t, nodeops.InMaintenance(t.Context(), m.address.String()))
	require.NoError(t, m.health().ForgetFormer(t.Context(), m.member()), "a member is left as it is")
	members, err := m.health().Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 1)
}

func TestAWorkerThatWasMadeAnewIsKnownToNobodyWhereThereIsNoCluster(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	health := nodeops.Health{Talosconfig: talosconfigOf(t, secretsOf(t, ours), m.address), Nodes: []rolling.Node{
		{Name: "k3s-dev-control-1", Address: freeAddress(t), ControlPlane: true}, {Name: "worker-1", Address: m.address},
	}}
	health.Patience = time.Second
	require.ErrorContains(t, health.ForgetFormer(t.Context(), health.Nodes[1]), "worker-1 is not joined again, because etcd does not say who its members are (", "its silence may be the network's")
	health.Patience, health.Runs = 0, func(context.Context, rolling.Node) (bool, error) { return false, nil }
	require.NoError(t, health.ForgetFormer(t.Context(), health.Nodes[1]))
	require.Equal(t, talos.StageMaintenance, m.fleet.Nodes()[0].Stage)
}

func TestKubeletsOfNodesThatAnswerAreRestarted(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	require.NoError(t, m.health().RestartKubelets(t.Context(), nil), "nobody answers")
	m.bringUp()
	starts := m.kubeletStarts()
	require.NoError(t, m.health().RestartKubelets(t.Context(), []string{"k3s-dev-control-1"}))
	require.Equal(t, starts, m.kubeletStarts())
	require.NoError(t, m.health().RestartKubelets(t.Context(), nil))
	require.Greater(t, m.kubeletStarts(), starts)
}

// further starts another machine of the fleet, in maintenance mode, at an address.
func (m *machineUnderTest) further(number int, address netip.Addr) rolling.Node {
	m.t.Helper()
	name := fmt.Sprintf("k3s-dev-control-%d", number)
	require.NoError(m.t, m.fleet.PowerOn(m.t.Context(), talostest.Hardware(100+number, name, address, release)))
	m.eventually(func() error {
		if !nodeops.InMaintenance(m.t.Context(), address.String()) {
			return context.DeadlineExceeded
		}
		return nil
	})
	return rolling.Node{Name: name, Address: address, ControlPlane: true}
}

// join makes a machine in maintenance mode a control plane of the first machine's cluster, and returns when the cluster has
// the given number of members.
func (m *machineUnderTest) join(node rolling.Node, members int) {
	m.t.Helper()
	m.applyAt(node.Address, secretsOf(m.t, ours))
	m.eventually(func() error { return m.hasMembers(members) })
}

// hasMembers returns why the cluster does not have the given number of voting etcd members.
func (m *machineUnderTest) hasMembers(count int) error {
	members, err := m.health().Members(m.t.Context())
	if err != nil {
		return err
	}
	if len(members) != count {
		return fmt.Errorf("%d members: %v", len(members), members)
	}
	for _, member := range members {
		if member.Problem != "" {
			return fmt.Errorf("%s: %s", member.Name, member.Problem)
		}
	}
	return nil
}

func TestAControlPlaneThatIsGoneIsForgottenBeforeAnotherTakesItsPlace(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	var mu sync.Mutex
	var deleted []string
	m.serveAPI(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			mu.Lock()
			defer mu.Unlock()
			deleted = append(deleted, r.URL.Path)
			w.WriteHeader(http.StatusNotFound) // another client was faster
		}
	}))
	second, third := m.further(2, freeAddress(t)), m.further(3, freeAddress(t))
	health := m.health()
	health.Nodes = []rolling.Node{m.member(), second, third}
	m.join(second, 2)
	m.join(third, 3)

	require.NoError(t, m.fleet.Destroy(103))
	members, err := health.Members(t.Context())
	require.NoError(t, err)
	require.Len(t, members, 3, "etcd counts its dead member")
	m.further(3, third.Address)
	require.NoError(t, health.ForgetFormer(t.Context(), third))
	require.NoError(t, m.hasMembers(2))
	require.NoError(t, health.ForgetFormer(t.Context(), third), "it has no member any more")
	require.Equal(t, []string{"/api/v1/nodes/k3s-dev-control-3", "/api/v1/nodes/k3s-dev-control-3"}, deleted)

	require.NoError(t, m.fleet.Destroy(102))
	m.further(2, second.Address)
	health.Patience = time.Second
	require.ErrorContains(t, health.ForgetFormer(t.Context(), second), "k3s-dev-control-2 is not joined again, because ", "one of two is no quorum")
	require.Len(t, deleted, 2, "nothing was touched")
}

// kubeletStarts returns how often the kubelet of the machine has started.
func (m *machineUnderTest) kubeletStarts() int {
	m.t.Helper()
	api, err := client.New(m.t.Context(), client.WithConfig(adminOf(m.t, secretsOf(m.t, ours), m.address)))
	require.NoError(m.t, err)
	defer api.Close()
	services, err := api.ServiceInfo(m.t.Context(), "kubelet")
	require.NoError(m.t, err)
	starts := 0
	for _, event := range services[0].Service.GetEvents().GetEvents() {
		if event.GetState() == "Running" {
			starts++
		}
	}
	return starts
}

// TestNodesRegisterAgainBeforeARun checks that a node whose Node was deleted by hand registers again, and that nodes that have a Node or do not
// answer are left alone.
func TestNodesRegisterAgainBeforeARun(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	m.bringUp()
	restarted, err := m.health().RegisterAgain(t.Context())
	require.NoError(t, err)
	require.Empty(t, restarted, "Kubernetes does not answer")

	list := m.serveKubernetes()
	starts := m.kubeletStarts()
	restarted, err = m.health().RegisterAgain(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{m.member().Name}, restarted)
	require.Greater(t, m.kubeletStarts(), starts)

	list.set(nodeObject(t, m.member().Name, true, "1"))
	restarted, err = m.health().RegisterAgain(t.Context())
	require.NoError(t, err)
	require.Empty(t, restarted)
}

// TestANodeWithoutANodeObjectRegistersAgain checks that the kubelet is restarted once, and not before it had time to register.
func TestANodeWithoutANodeObjectRegistersAgain(t *testing.T) {
	t.Parallel()
	m := powerOn(t)
	now := time.Now()
	registration := &nodeops.Registration{Health: m.health(), Now: func() time.Time { return now }}
	missing := func() (bool, error) { return registration.Missing(t.Context(), m.member()) }

	restarted, err := missing()
	require.NoError(t, err)
	require.False(t, restarted, "it may register at any moment")
	now = now.Add(20 * time.Second)
	_, err = missing()
	require.ErrorContains(t, err, "the kubelet of k3s-dev-control-1 does not restart (", "it is in maintenance mode")
	require.ErrorContains(t, err, "): reboot that node")

	m.bringUp()
	starts := m.kubeletStarts()
	restarted, err = missing()
	require.NoError(t, err)
	require.True(t, restarted)
	require.Greater(t, m.kubeletStarts(), starts)
	starts = m.kubeletStarts()
	now = now.Add(time.Hour)
	restarted, err = missing()
	require.NoError(t, err)
	require.False(t, restarted, "once is enough")
	require.Equal(t, starts, m.kubeletStarts())
}
