package e2e_test

import (
	"context"
	"flag"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/toolchain"
)

// ladder runs TestE2ELadder, for which the control plane of another release of Kubernetes is built.
var ladder = flag.Bool("ladder", false, "climb from release to release of Talos and Kubernetes: TestE2ELadder")

// TestE2ELadder takes three control planes, a worker and a worker with a GPU from release to release of Talos and Kubernetes, by one
// line of the inventory and one up at a time: once by em-infra, and once by Pulumi without it. The API servers move from one build of
// Kubernetes to the next, over the same data. Run it with
//
//	go test ./tests/e2e -run TestE2ELadder -ladder -timeout 120m
func TestE2ELadder(t *testing.T) {
	if !*ladder {
		t.Skip("builds another release of Kubernetes and takes twenty minutes: run it with -ladder")
	}
	builds := kubernetesBuilds(t)
	t.Run("em-infra", func(t *testing.T) {
		r := standing(t, driven)
		r.climb(builds, func() { r.mustRun(0, "up", "--lab", "--yes") })
	})
	t.Run("pulumi", func(t *testing.T) {
		r := standing(t, driven)
		r.climb(builds, func() {
			stack := r.plainEngine()
			_, err := stack.Up(t.Context(), optup.ProgressStreams(io.Discard))
			require.NoError(t, err)
			preview, err := stack.Preview(t.Context(), optpreview.ProgressStreams(io.Discard))
			require.NoError(t, err)
			require.Equal(t, []apitype.OpType{apitype.OpSame}, slices.Collect(maps.Keys(preview.ChangeSummary)))
		})
	})
}

// kubernetesBuilds returns the versions of the control planes that the lab has for Kubernetes v1.35 and v1.36, and builds those that
// are missing.
func kubernetesBuilds(t *testing.T) (builds [2]string) {
	t.Helper()
	next, err := toolchain.ControlPlane("1.36")
	require.NoError(t, err)
	installed, err := toolchain.Install(t.Context(), toolchain.Options{Source: projectRoot(t), Names: []string{"controlplane", next}, Progress: t.Output()})
	require.NoError(t, err)
	return [2]string{installed.Tools[0].Version, installed.Tools[1].Version}
}

// rung is a step of the ladder: what is written into the inventory, and what runs after it.
type rung struct{ old, new, talos, kubernetes, binary string }

// climb takes a cluster up the ladder.
func (r *rehearsal) climb(builds [2]string, up func()) {
	r.t.Helper()
	before, after := builds[0], builds[1]
	var kept []func()
	for _, step := range []rung{
		{"version: v1.12.4", "version: v1.12.11", "v1.12.11", "v1.35.4", before},
		{"version: v1.12.11", "version: v1.13.9", "v1.13.9", "v1.35.4", before},
		{"version: v1.35.4", "version: " + after, "v1.13.9", after, after},
		{"version: v1.13.9", "version: v1.14.1", "v1.14.1", after, after},
	} {
		kept = append(kept, r.writesObject("before-"+step.new[len("version: "):]))
		r.edit("cluster.yaml", step.old, step.new)
		r.mustRun(2, "preview", "--lab")
		began := time.Now()
		served := r.watchesAPI()
		up()
		served()
		r.t.Logf("%s → %s: up took %s", step.old, step.new, time.Since(began).Round(time.Second))

		r.mustRun(0, "preview", "--lab")
		require.Equal(r.t, slices.Repeat([]string{step.talos}, 5), r.releases())
		r.runsKubernetes(step.kubernetes)
		r.answersAs(step.binary)
		r.nodesAreReady("k3s-dev-control-1", "k3s-dev-control-2", "k3s-dev-control-3", "k3s-dev-gpu-1", "k3s-dev-worker-1")
		r.keptQuorum(began, step)
		for _, object := range kept {
			object()
		}
	}
}

// keptQuorum requires that the nodes were down one after the other if Talos changed, and none otherwise, and that etcd had all its
// members before each outage.
func (r *rehearsal) keptQuorum(began time.Time, step rung) {
	r.t.Helper()
	lines := r.talosLog(began)
	if step.talos != step.new[len("version: "):] {
		r.upgradedOneAfterTheOther(lines, 0)
		return
	}
	r.votedInBetween(lines, r.upgradedOneAfterTheOther(lines, 5)[:3])
}

// answersAs requires that the API server of each control plane is of that build.
func (r *rehearsal) answersAs(build string) {
	r.t.Helper()
	for _, control := range r.nodes()[:3] {
		version, err := r.apiServer(control).ServerVersion()
		require.NoError(r.t, err)
		require.Equal(r.t, build, version.GitVersion, control)
	}
}

// apiServer returns a client of the API server of one control plane.
func (r *rehearsal) apiServer(address string) *discovery.DiscoveryClient {
	r.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	config.Host = "https://" + net.JoinHostPort(address, "6443")
	config.Timeout = 10 * time.Second
	client, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(r.t, err)
	return client
}

// lookInterval is the pause between two looks at the API.
const lookInterval = 200 * time.Millisecond

// watchesAPI looks at the API servers of all control planes. The function that it returns ends that and requires that, at each look, one
// of them answered.
func (r *rehearsal) watchesAPI() (served func()) {
	r.t.Helper()
	var servers []*discovery.DiscoveryClient
	for _, control := range r.nodes()[:3] {
		servers = append(servers, r.apiServer(control))
	}
	ctx, end := context.WithCancel(r.t.Context())
	var work sync.WaitGroup
	looks, silent := 0, 0
	work.Go(func() {
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		for ; ctx.Err() == nil; looks++ {
			<-ticker.C
			if !slices.ContainsFunc(servers, func(s *discovery.DiscoveryClient) bool {
				_, err := s.ServerVersion()
				return err == nil
			}) {
				silent++
			}
		}
	})
	return func() {
		r.t.Helper()
		end()
		work.Wait()
		require.Positive(r.t, looks)
		require.Zero(r.t, silent, "looks of %d at which no API server answered", looks)
	}
}
