package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestE2ECredentials: the cluster accepts the credentials that are made for it, as far as their role or group may go.
func TestE2ECredentials(t *testing.T) {
	t.Parallel()
	r := standing(t, pair)
	r.credentialsHaveARole()
	r.statusListsCredentials()
}

// statusListsCredentials: those with the first end come first, and each has the end that the cluster or the host gave it.
func (r *rehearsal) statusListsCredentials() {
	r.t.Helper()
	var kinds []string
	for _, credential := range r.status(0).Credentials {
		kinds = append(kinds, string(credential.Kind))
		require.Empty(r.t, credential.Problem, credential.Kind)
		require.False(r.t, credential.Due, credential.Kind)
	}
	require.ElementsMatch(r.t, []string{"talosconfig", "kubeconfig"}, kinds[:2])
	require.ElementsMatch(r.t, []string{"Talos CA", "Kubernetes CA", "etcd CA", "aggregator CA"}, kinds[2:6])
	require.Equal(r.t, []string{"Proxmox token", "state secrets"}, kinds[6:])
}

// credentialsHaveARole makes a talosconfig that may only read, and kubeconfigs of an administrator and of an unknown user.
func (r *rehearsal) credentialsHaveARole() {
	r.t.Helper()
	ctx := r.t.Context()
	require.Contains(r.t, r.mustRun(0, "credentials", "new", "--lab", "--role", "os:reader", "--ttl", "8h"), "/talosconfig-os-reader: a talosconfig with the role os:reader, until ")
	api, err := client.New(ctx, client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig-os-reader")))
	require.NoError(r.t, err)
	defer api.Close()
	control := client.WithNode(ctx, r.nodes()[0])
	_, err = api.Version(control)
	require.NoError(r.t, err)
	require.Equal(r.t, codes.PermissionDenied, status.Code(api.Reboot(control)))

	own := filepath.Join(r.t.TempDir(), "own.yaml")
	r.mustRun(0, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--group", "system:masters", "--out", own)
	require.Contains(r.t, r.mustRun(3, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--out", own), "own.yaml exists already: ")
	_, err = kubernetesWith(r.t, r.read(own)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.NoError(r.t, err)
	printed, err := r.command(ctx, "credentials", "new", "--lab", "--kubeconfig", "--user", "anna", "--out", "-", "--stack", r.stack, "--inventory", r.inventory).Output()
	require.NoError(r.t, err)
	_, err = kubernetesWith(r.t, string(printed)).CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	require.True(r.t, apierrors.IsForbidden(err), "%v", err)

	info, err := os.Stat(own)
	require.NoError(r.t, err)
	require.Equal(r.t, os.FileMode(0o600), info.Mode())
}

func kubernetesWith(t testing.TB, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig))
	require.NoError(t, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return api
}
