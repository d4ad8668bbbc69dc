package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestE2ERotateTalosCA replaces the CA of the Talos API. Its run is killed as soon as it has noted the new CA, and once more while the
// nodes begin to issue with it; until it is run again, nothing else works on the stack. Afterwards each node has the CA of the first
// run, former talosconfigs are refused, and nothing is left to be done.
func TestE2ERotateTalosCA(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	kept := r.writesObject("rotated")
	former, boots := r.talosconfig(), r.boots()
	before := authorityOf(r.running(former, "k3s-dev-control-1"))
	rotate := []string{"rotate", "talos-ca", "--lab", "--yes"}

	kill := r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the worker accepts the new CA", func() bool { return len(r.running(former, "k3s-dev-worker-1").Machine().Security().AcceptedCAs()) == 1 })
	kill()
	made := sumOf(r.running(former, "k3s-dev-worker-1").Machine().Security().AcceptedCAs()[0].Crt)
	r.refusesWhileRotating("talos-ca")

	kill = r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the control plane issues with the new CA", func() bool { return r.answersTo(former, "k3s-dev-control-1") != nil })
	kill()
	output := r.mustRun(0, rotate...)
	require.Contains(t, output, "goes on with the same new secrets")
	require.Contains(t, output, "the CA of stack "+r.stack+" is replaced: talosconfigs that were made before are refused\n")

	require.NotContains(t, output, "nevertheless")
	latter := r.talosconfig()
	for _, name := range r.nodeNames() {
		running := r.running(latter, name)
		require.Equal(t, made, authorityOf(running).talos, name)
		require.Empty(t, running.Machine().Security().AcceptedCAs(), name)
		require.ErrorIs(t, r.answersTo(former, name), nodeops.ErrForeign, name)
	}
	require.NotEqual(t, before.talos, made)
	require.Equal(t, before.kubernetes, authorityOf(r.running(latter, "k3s-dev-control-1")).kubernetes)
	require.Equal(t, boots, r.boots(), "no node has rebooted")
	r.isRotated(kept)
}

// TestE2ERotateKubernetesCA does the same with the CA of Kubernetes.
func TestE2ERotateKubernetesCA(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	kept := r.writesObject("rotated")
	talosconfig, boots := r.talosconfig(), r.boots()
	former := r.read(filepath.Join(r.dir(), "kubeconfig"))
	rotate := []string{"rotate", "kubernetes-ca", "--lab", "--yes"}

	kill := r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the control plane accepts the new CA", func() bool { return len(r.running(talosconfig, "k3s-dev-control-1").Cluster().AcceptedCAs()) == 1 })
	kill()
	made := sumOf(r.running(talosconfig, "k3s-dev-control-1").Cluster().AcceptedCAs()[0].Crt)
	r.refusesWhileRotating("kubernetes-ca")

	kill = r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the worker issues with the new CA", func() bool { return authorityOf(r.running(talosconfig, "k3s-dev-worker-1")).kubernetes == made })
	kill()
	output := r.mustRun(0, rotate...)
	require.Contains(t, output, "the CA of stack "+r.stack+" is replaced: kubeconfigs that were made before are refused\n")

	for _, name := range r.nodeNames() {
		running := r.running(talosconfig, name)
		require.Equal(t, made, authorityOf(running).kubernetes, name)
		require.Empty(t, running.Cluster().AcceptedCAs(), name)
	}
	_, err := kubernetesWith(t, former).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	require.Equal(t, boots, r.boots(), "no node has rebooted")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")
	r.isRotated(kept)
}

// TestE2ERotateWithoutALostNode: a node that is lost in the middle of a rotation is left out, and made anew afterwards.
func TestE2ERotateWithoutALostNode(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	kept := r.writesObject("rotated")
	former := r.talosconfig()
	rotate := []string{"rotate", "talos-ca", "--lab", "--yes"}
	const lost = "k3s-dev-worker-1"
	require.Contains(t, r.mustRun(3, append(rotate, "--without", lost)...), "--without "+lost+": it answers at ")

	kill := r.startWith([]string{"pulumi"}, rotate...)
	r.eventually("the worker accepts the new CA", func() bool { return len(r.running(former, lost).Machine().Security().AcceptedCAs()) == 1 })
	kill()
	r.power(false, 102)
	require.Contains(t, r.mustRun(1, rotate...), "again, which goes on from there; if "+lost+" is lost for good, stop its machine if there is one, and add --without "+lost)
	output := r.mustRun(0, append(rotate, "--without", lost)...)
	require.Contains(t, output, lost+" was left out and has the former secrets: delete its machine with `em-infra lab destroy 102 --stack "+r.stack)
	require.ErrorIs(t, r.answersTo(former, "k3s-dev-control-1"), nodeops.ErrForeign)

	r.mustRun(0, "lab", "destroy", "102")
	r.mustRun(0, "up", "--lab", "--yes")
	r.nodesAreReady("k3s-dev-control-1", lost)
	require.NoError(t, r.answersTo(r.talosconfig(), lost))
	r.isRotated(kept)
}

// refusesWhileRotating requires that nothing but the rotation works on the stack, and that a plain Pulumi would delete nothing.
func (r *rehearsal) refusesWhileRotating(what string) {
	r.t.Helper()
	refusal := "a rotation (" + what + ") was begun and has not ended: run `em-infra rotate " + what + " --stack " + r.stack
	for _, command := range [][]string{{"preview", "--lab"}, {"up", "--lab", "--yes"}, {"status", "--lab"}} {
		require.Contains(r.t, r.mustRun(3, command...), refusal)
	}
	stack := r.plainEngine()
	_, err := stack.Preview(r.t.Context())
	require.ErrorContains(r.t, err, "rotate-"+what)
}

// isRotated requires that nothing is left to be done, for em-infra and for a plain Pulumi, and that the cluster has what it had.
func (r *rehearsal) isRotated(kept func()) {
	r.t.Helper()
	seen := len(r.calls())
	r.mustRun(0, "preview", "--lab")
	stack := r.plainEngine()
	_, err := stack.Preview(r.t.Context(), optpreview.ExpectNoChanges())
	require.NoError(r.t, err)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.status(0)
	require.Contains(r.t, r.newestBackup(), "-after-")
	r.secureAPIAnswers(r.nodes())
	kept()
}

// authorities are the SHA-256 of the CAs that a node issues with.
type authorities struct{ talos, kubernetes string }

func authorityOf(running config.Provider) authorities {
	return authorities{sumOf(running.Machine().Security().IssuingCA().Crt), sumOf(running.Cluster().IssuingCA().Crt)}
}

func sumOf(crt []byte) string {
	sum := sha256.Sum256(crt)
	return hex.EncodeToString(sum[:])
}

// running returns the machine configuration that a node runs.
func (r *rehearsal) running(talosconfig []byte, name string) (running config.Provider) {
	r.t.Helper()
	require.NoError(r.t, nodeops.Ask(r.t.Context(), talosconfig, r.addressOf(name), func(ctx context.Context, api *client.Client) (err error) {
		running, err = nodeops.RunningConfiguration(ctx, api)
		return err
	}))
	return running
}

// answersTo returns why a node does not answer to a talosconfig.
func (r *rehearsal) answersTo(talosconfig []byte, name string) error {
	return nodeops.Ask(r.t.Context(), talosconfig, r.addressOf(name), func(ctx context.Context, api *client.Client) error {
		_, err := api.Version(ctx)
		return err
	})
}
