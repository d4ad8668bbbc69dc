package removal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestAKilledRemovalIsEndedByTheNext checks that the next removal completes one that was killed. The removal is that of the leader of three, killed
// at any of its calls that change something, before or after the effect of the call. An object in etcd survives.
func TestAKilledRemovalIsEndedByTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	c := newCluster(t, size)
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "canary", Namespace: metav1.NamespaceDefault}}
	_, err := c.kubernetes(0).CoreV1().ConfigMaps(canary.Namespace).Create(t.Context(), canary, metav1.CreateOptions{})
	require.NoError(t, err)
	writes := []string{"EtcdForfeitLeadership", "EtcdLeaveCluster", "Reset"}

	for _, call := range append([]string{""}, writes...) {
		for _, done := range []bool{false, true} {
			if call == "" && done {
				continue // the run that is not killed
			}
			t.Run(fmt.Sprintf("%s, done %v", call, done), func(t *testing.T) {
				vmid := c.leader()
				errKilled := errors.New("the run was killed")
				ctx, kill := context.WithCancelCause(t.Context())
				c.killer.Begin(call, done, func() { kill(errKilled) })
				err := c.remove(vmid).Remove(ctx)
				if call == "" {
					require.NoError(t, err)
					require.Equal(t, writes, c.killer.Writes(), "a call that is new here needs its row in this test")
				} else {
					require.Error(t, err)
					require.ErrorIs(t, context.Cause(ctx), errKilled, "it has ended by itself: %v", err)
					c.killer.Begin("", false, nil)
					require.NoError(t, c.remove(vmid).Remove(t.Context()))
				}

				stays := c.remove(vmid).Stay
				members, err := nodeops.Health{Talosconfig: c.Talosconfig(), Nodes: stays}.Members(t.Context())
				require.NoError(t, err)
				require.Len(t, members, size-1)
				api := c.kubernetes(vmid)
				nodes, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				require.Len(t, nodes.Items, size-1)
				_, err = api.CoreV1().ConfigMaps(canary.Namespace).Get(t.Context(), canary.Name, metav1.GetOptions{})
				require.NoError(t, err)
				c.comeBack(vmid)
				c.awaitMembers(size)
			})
		}
	}
}
