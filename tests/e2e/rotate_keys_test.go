package e2e_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestE2EKeysAreRotated rotates the key of service accounts and the join tokens of one cluster, each with a kill in its middle. The former keys and
// tokens open nothing afterwards, nothing is left to do, and a machine joins.
func TestE2EKeysAreRotated(t *testing.T) {
	t.Parallel()
	extended(t)
	r := standing(t, pair)
	require.Contains(t, r.mustRun(3, "rotate", "encryption-key", "--lab", "--yes"), "the Secrets are sealed with secretbox, and Talos up to 1.13 gives an API server one key of it at a time")
	kept := r.writesObject("rotated")
	r.accountKeyIsRotated()
	r.isRotated(kept)
	r.joinTokensAreRotated()
	r.isRotated(kept)

	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 103, address: 192.168.20.22}")
	r.mustRun(0, "up", "--lab", "--yes")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2")
}

func (r *rehearsal) accountKeyIsRotated() {
	r.t.Helper()
	api, ctx := r.kubernetes(), r.t.Context()
	r.eventually("the controller manager has made the service account", func() bool {
		_, err := api.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	_, err := api.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "robot", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, Type: corev1.SecretTypeServiceAccountToken,
	}, metav1.CreateOptions{})
	require.NoError(r.t, err)
	tokenOf := func() string {
		secret, err := r.kubernetes().CoreV1().Secrets("default").Get(ctx, "robot", metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return string(secret.Data[corev1.ServiceAccountTokenKey])
	}
	r.eventually("the robot has a token", func() bool { return tokenOf() != "" })
	former := tokenOf()
	require.True(r.t, r.accepts(former))

	require.Contains(r.t, r.mustRun(0, "rotate", "service-account-key", "--lab", "--dry-run"), "pods that do not talk to the API go on")
	r.killedWhen("service-account-key", func() bool { return !r.accepts(former) })
	r.withoutItsKubeconfig(func() {
		require.Contains(r.t, r.mustRun(1, "rotate", "service-account-key", "--lab", "--yes"), "again, which goes on from there")
	})
	output := r.mustRun(0, "rotate", "service-account-key", "--lab", "--yes")
	require.Contains(r.t, output, "goes on with the same new secrets", "also after the credentials could not be written")
	require.Contains(r.t, output, "tokens that were made before are refused")
	require.False(r.t, r.accepts(former))
	require.NotEqual(r.t, former, tokenOf())
	require.True(r.t, r.accepts(tokenOf()))
	dns, err := r.kubernetes().AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	require.NoError(r.t, err)
	require.NotEmpty(r.t, dns.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"])
}

// withoutItsKubeconfig does something while the kubeconfig cannot be written.
func (r *rehearsal) withoutItsKubeconfig(do func()) {
	r.t.Helper()
	path := filepath.Join(r.labDir(), "kubeconfig")
	require.NoError(r.t, os.Rename(path, path+".aside"))
	require.NoError(r.t, os.MkdirAll(filepath.Join(path, "in-the-way"), 0o700))
	do()
	require.NoError(r.t, os.RemoveAll(path))
	require.NoError(r.t, os.Rename(path+".aside", path))
}

// accepts reports whether the Kubernetes API accepts a token of a service account; false while it does not answer.
func (r *rehearsal) accepts(token string) bool {
	review, err := r.kubernetes().AuthenticationV1().TokenReviews().Create(context.Background(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	return err != nil || review.Status.Authenticated
}

func (r *rehearsal) joinTokensAreRotated() {
	r.t.Helper()
	former := r.bootstrapTokens()
	require.Len(r.t, former, 1)
	require.Contains(r.t, r.mustRun(0, "rotate", "join-tokens", "--lab", "--dry-run"), "every node is drained and reboots")
	boots := r.boots()
	r.killedWhen("join-tokens", func() bool { return len(r.bootstrapTokens()) == 2 })
	require.Contains(r.t, r.mustRun(0, "rotate", "join-tokens", "--lab", "--yes"), "nothing joins with the former ones any more")
	now := r.bootstrapTokens()
	require.Len(r.t, now, 1)
	require.NotEqual(r.t, former, now)
	for node, boot := range r.boots() {
		require.NotEqual(r.t, boots[node], boot, "%s has rebooted", node)
	}
}

// bootstrapTokens returns the names of the Secrets with tokens of joining kubelets; none while the API does not answer.
func (r *rehearsal) bootstrapTokens() (names []string) {
	list, err := r.kubernetes().CoreV1().Secrets("kube-system").List(context.Background(), metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeBootstrapToken)})
	if err != nil {
		return nil
	}
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	return names
}

// killedWhen kills a rotation when something has happened. Until it is run again, nothing else works on the stack.
func (r *rehearsal) killedWhen(what string, happened func() bool) {
	r.t.Helper()
	kill := r.startWith([]string{"pulumi"}, "rotate", what, "--lab", "--yes")
	r.eventually(what+" is half way", happened)
	kill()
	r.refusesWhileRotating(what)
}

// TestE2EEncryptionKeyIsRotated exchanges the key of aescbc of a cluster that was born with an old contract for one of secretbox, with a
// kill in its middle. A snapshot from before is refused afterwards.
func TestE2EEncryptionKeyIsRotated(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-encryption-key")
	r.writeInventory("cluster.yaml", strings.Replace(r.read(filepath.Join(r.inventory, "cluster.yaml")), "contract: v1.12", "contract: v1.2", 1))
	r.mustRun(0, "up", "--lab", "--yes")
	ctx, talosconfig := t.Context(), r.talosconfig()
	born := r.running(talosconfig, "k3s-dev-control-1").Cluster()
	require.NotEmpty(t, born.AESCBCEncryptionSecret())
	require.Empty(t, born.SecretboxEncryptionSecret())
	_, err := r.kubernetes().CoreV1().Secrets("default").Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string][]byte{"password": []byte("old and well known")},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	kept := r.writesObject("rotated")

	require.Contains(t, r.mustRun(0, "rotate", "encryption-key", "--lab", "--dry-run"), "restart twice")
	r.killedWhen("encryption-key", func() bool {
		now := r.running(talosconfig, "k3s-dev-control-1").Cluster()
		return now.SecretboxEncryptionSecret() != "" && now.AESCBCEncryptionSecret() != ""
	})
	made := r.running(talosconfig, "k3s-dev-control-1").Cluster().SecretboxEncryptionSecret()
	require.Contains(t, r.mustRun(0, "rotate", "encryption-key", "--lab", "--yes"), "are sealed with a new key of secretbox")
	now := r.running(talosconfig, "k3s-dev-control-1").Cluster()
	require.Equal(t, made, now.SecretboxEncryptionSecret(), "the one of the first run")
	require.Empty(t, now.AESCBCEncryptionSecret())
	secret, err := r.kubernetes().CoreV1().Secrets("default").Get(ctx, "kept", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "old and well known", string(secret.Data["password"]))
	r.isRotated(kept)
	require.Contains(t, r.mustRun(3, "rotate", "encryption-key", "--lab", "--yes"), "one key of it at a time")

	before := regexp.MustCompile(`\S+-before-rotate`).FindString(r.mustRun(0, "etcd", "list", "--lab"))
	require.Contains(t, r.mustRun(3, "etcd", "restore", "--lab", "--yes", "--from", before), "is from before `em-infra rotate encryption-key")
}
