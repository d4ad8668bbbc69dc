package kubernetes_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// TestControlPlanesOfTwoReleases moves two control planes from one release to another, one after the other, with live data. Both
// releases are the same executable, so this shows which process serves what, and not how the releases differ.
func TestControlPlanesOfTwoReleases(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, dir, programs := newSite(t, ourSecrets), t.TempDir(), kubernetestest.Tools(t)
	another := filepath.Join(t.TempDir(), "another")
	require.NoError(t, os.Symlink(programs.ControlPlanes[0].Path, another))
	programs.ControlPlanes = append(programs.ControlPlanes, kubernetes.ControlPlane{Version: "v1.36.2", Path: another})
	var log bytes.Buffer
	begin := func() (clusters *kubernetes.Clusters, end func()) {
		clusters, err := kubernetes.New(kubernetes.Config{
			Dir: dir, Tools: programs, Scaled: func(time.Duration) time.Duration { return 0 }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		end = sync.OnceFunc(func() { require.NoError(t, clusters.Close()) })
		t.Cleanup(end)
		return clusters, end
	}
	clusters, end := begin()
	at := func(vmid int, version, config string) talos.KubernetesNode {
		node := s.node(vmid, machine.TypeControlPlane, release(version).asks)
		node.StaticPods = versions(config)
		return node
	}
	one := at(101, "v1.35.4", "1")
	clusters.NodeChanged(one)
	clusters.NodeChanged(at(102, "v1.35.4", "1"))
	first, second := admin(t, one, number(s.network, 11)), admin(t, one, number(s.network, 12))
	first.eventually("the first control plane serves", first.shows("kube-apiserver-node-101", "v1.35.4"))
	second.eventually("the second does", second.shows("kube-apiserver-node-102", "v1.35.4"))
	kept := first.writes("kept")
	before := []string{
		"controlplane etcd", "controlplane kube-apiserver", "controlplane kube-controller-manager", "controlplane kube-scheduler", "kwok",
	}
	require.Equal(t, before, processesIn(t, dir))

	clusters.NodeChanged(at(101, "v1.36.2", "2"))
	second.eventually("the first runs the other API server", second.shows("kube-apiserver-node-101", "v1.36.2"))
	require.True(t, first.answers(t.Context()), "it is shown when it serves")
	require.Subset(t, processesIn(t, dir), []string{"another kube-apiserver", "controlplane kube-apiserver"}, "one for each control plane")
	require.Equal(t, kept, first.uid("kept"))

	end()
	clusters, end = begin()
	clusters.NodeChanged(at(101, "v1.36.2", "2"))
	clusters.NodeChanged(at(102, "v1.35.4", "1"))
	first.eventually("the first is back after the end of the lab", first.answers)
	second.eventually("the second is", second.answers)
	require.Subset(t, processesIn(t, dir), []string{"another kube-apiserver", "controlplane kube-apiserver"}, "as before")

	clusters.NodeChanged(at(102, "v1.36.2", "2"))
	first.eventually("the second runs it, too", first.shows("kube-apiserver-node-102", "v1.36.2"))
	after := []string{"another kube-apiserver", "another kube-controller-manager", "another kube-scheduler", "controlplane etcd", "kwok"}
	first.eventually("the former processes have ended", func(context.Context) bool { return slices.Equal(after, processesIn(t, dir)) })
	require.Equal(t, kept, second.uid("kept"))
	first.waitReadiness("node-101", corev1.ConditionTrue)
	_, err := first.AppsV1().Deployments("default").Create(t.Context(), deployment("web", 1), metav1.CreateOptions{})
	require.NoError(t, err)
	first.eventually("the controller manager makes its ReplicaSet", func(ctx context.Context) bool {
		sets, err := first.AppsV1().ReplicaSets("default").List(ctx, metav1.ListOptions{})
		return err == nil && len(sets.Items) == 1
	})
	end()
	require.NotContains(t, log.String(), "is not built")
	require.NotContains(t, log.String(), "it is started again")
}

// TestAReleaseThatIsNotBuilt: another one runs in its place, and the log reports that once.
func TestAReleaseThatIsNotBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, dir, programs := newSite(t, ourSecrets), t.TempDir(), kubernetestest.Tools(t)
	var log bytes.Buffer
	clusters, err := kubernetes.New(kubernetes.Config{
		Dir: dir, Tools: programs, Scaled: func(time.Duration) time.Duration { return 0 }, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	require.NoError(t, err)
	end := sync.OnceFunc(func() { require.NoError(t, clusters.Close()) })
	t.Cleanup(end)
	node := s.node(101, machine.TypeControlPlane, release("v1.36.2").asks)
	clusters.NodeChanged(node)
	clusters.NodeChanged(s.node(102, machine.TypeControlPlane, release("v1.36.2").asks))
	c := admin(t, node)
	c.eventually("the API shows the image that is asked for", c.shows("kube-apiserver-node-102", "v1.36.2"))
	version, err := c.Discovery().ServerVersion()
	require.NoError(t, err)
	require.Equal(t, programs.ControlPlanes[0].Version, version.GitVersion)
	end()
	message := "Kubernetes v1.36.2 is not built: " + programs.ControlPlanes[0].Version + " runs in its place"
	require.Equal(t, 1, strings.Count(log.String(), message), log.String())
}

// shows reports whether a static pod is shown with a version, and as ready.
func (c cluster) shows(name, version string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		pod, err := c.CoreV1().Pods("kube-system").Get(ctx, name, metav1.GetOptions{})
		return err == nil && strings.HasSuffix(pod.Spec.Containers[0].Image, ":"+version) && ready(pod)
	}
}

// writes writes an object and returns its UID.
func (c cluster) writes(name string) types.UID {
	c.t.Helper()
	object, err := c.CoreV1().ConfigMaps("default").Create(c.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	require.NoError(c.t, err)
	return object.UID
}

// uid returns the UID of an object that writes has written.
func (c cluster) uid(name string) types.UID {
	c.t.Helper()
	object, err := c.CoreV1().ConfigMaps("default").Get(c.t.Context(), name, metav1.GetOptions{})
	require.NoError(c.t, err)
	return object.UID
}

// processesIn returns the processes that run in a folder, PROGRAM COMPONENT, sorted.
func processesIn(t testing.TB, dir string) []string {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*/cwd")
	require.NoError(t, err)
	var found []string
	for _, folder := range folders {
		if at, err := os.Readlink(folder); err != nil || !strings.HasPrefix(at, dir) {
			continue // it has ended, or is not ours
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(folder), "cmdline"))
		if err != nil || len(line) == 0 {
			continue // it has ended
		}
		words := strings.Split(string(line), "\x00")
		name := filepath.Base(words[0])
		if !strings.HasPrefix(words[1], "-") {
			name += " " + words[1]
		}
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}
