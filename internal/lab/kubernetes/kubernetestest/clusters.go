// Package kubernetestest gives tests the real Kubernetes of the lab.
package kubernetestest

import (
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/toolchain"
)

// NewClusters returns clusters without delays, for the nodes of one fleet. They end with the test, after a fleet that is created later.
func NewClusters(t testing.TB) *kubernetes.Clusters {
	t.Helper()
	clusters := OpenClusters(t, t.TempDir(), Tools(t))
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	return clusters
}

// OpenClusters returns clusters without delays that keep their data in a folder. Their log goes to the test and to the writers. The caller closes them.
func OpenClusters(t testing.TB, dir string, tools kubernetes.Tools, logs ...io.Writer) *kubernetes.Clusters {
	t.Helper()
	clusters, err := kubernetes.New(kubernetes.Config{
		Dir: dir, Tools: tools, Scaled: func(time.Duration) time.Duration { return 0 },
		Log: slog.New(slog.NewTextHandler(io.MultiWriter(append(logs, t.Output())...), nil)),
	})
	require.NoError(t, err)
	return clusters
}

// Tools returns the programs of the default release, and builds those that are not in the cache.
func Tools(t testing.TB) kubernetes.Tools {
	t.Helper()
	installed, err := toolchain.Install(t.Context(), toolchain.Options{Names: []string{"controlplane", "kwok"}, Progress: os.Stderr})
	require.NoError(t, err)
	return kubernetes.Tools{
		ControlPlanes: []kubernetes.ControlPlane{{Version: installed.Tools[0].Version, Path: installed.Tools[0].Path}},
		Kwok:          installed.Tools[1].Path,
	}
}
