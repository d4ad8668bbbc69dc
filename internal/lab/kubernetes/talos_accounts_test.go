package kubernetes_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"testing"

	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/em-infra/em-infra/internal/lab/kubernetes/kubernetestest"
)

// talosAccounts are the accounts for the Talos API in a cluster.
type talosAccounts struct {
	cluster
	dynamic.NamespaceableResourceInterface
}

// ask creates an account as soon as its kind is there.
func (a talosAccounts) ask(namespace, name string, roles ...any) {
	a.t.Helper()
	account := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "talos.dev/v1alpha1", "kind": "ServiceAccount", "metadata": map[string]any{"name": name}, "spec": map[string]any{"roles": roles},
	}}
	a.eventually("the account "+name+" is made", func(ctx context.Context) bool {
		_, err := a.Namespace(namespace).Create(ctx, account, metav1.CreateOptions{})
		return err == nil
	})
}

// isRefused waits for the reason in the status of an account.
func (a talosAccounts) isRefused(namespace, name, reason string) {
	a.t.Helper()
	a.eventually(reason, func(ctx context.Context) bool {
		account, err := a.Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		found, _, err := unstructured.NestedString(account.Object, "status", "failureReason")
		return err == nil && found == reason
	})
}

// talosconfig waits for the talosconfig in the Secret of an account.
func (a talosAccounts) talosconfig(namespace, name string) (*clientconfig.Config, *corev1.Secret) {
	a.t.Helper()
	var (
		talosconfig *clientconfig.Config
		secret      *corev1.Secret
	)
	a.eventually("the Secret of "+name+" has a talosconfig", func(ctx context.Context) bool {
		var err error
		if secret, err = a.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return false
		}
		talosconfig, err = clientconfig.FromBytes(secret.Data["config"])
		return err == nil && talosconfig.Contexts[talosconfig.Context] != nil
	})
	return talosconfig, secret
}

// TestAccountsForTheTalosAPI: Talos makes the Secret of an account that the machine configuration allows, and reports why it refuses
// others.
func TestAccountsForTheTalosAPI(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Kubernetes control plane, and builds it when it is not in the cache")
	}
	t.Parallel()
	s, programs := newSite(t, ourSecrets), kubernetestest.Tools(t)
	node := s.node(101, machine.TypeControlPlane, withoutCNI, withoutProxy, withoutDNS, withTalosAPI("backup"))
	clusters := kubernetestest.OpenClusters(t, t.TempDir(), programs)
	t.Cleanup(func() { require.NoError(t, clusters.Close()) })
	clusters.NodeChanged(node)
	c := admin(t, node)
	client, err := dynamic.NewForConfig(adminConfig(t, node))
	require.NoError(t, err)
	a := talosAccounts{c, client.Resource(schema.GroupVersionResource{Group: "talos.dev", Version: "v1alpha1", Resource: "serviceaccounts"})}
	for _, name := range []string{"backup", "other"} {
		a.eventually("the namespace "+name+" is made", func(ctx context.Context) bool {
			_, err := c.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			return err == nil
		})
	}
	_, err = c.CoreV1().Secrets("backup").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}}, metav1.CreateOptions{})
	require.NoError(t, err)

	a.ask("backup", "mine", "os:etcd:backup")
	talosconfig, secret := a.talosconfig("backup", "mine")
	access := talosconfig.Contexts["default"]
	require.Equal(t, []string{"talos.default"}, access.Endpoints)
	text, err := base64.StdEncoding.DecodeString(access.Crt)
	require.NoError(t, err)
	block, _ := pem.Decode(text)
	require.NotNil(t, block)
	certificate, err := x509.ParseCertificate(block.Bytes)
	require.NoError(t, err)
	require.Equal(t, []string{"os:etcd:backup"}, certificate.Subject.Organization)
	require.Equal(t, "ServiceAccount", metav1.GetControllerOf(secret).Kind)
	account, err := a.Namespace("backup").Get(t.Context(), "mine", metav1.GetOptions{})
	require.NoError(t, err)
	reason, found, err := unstructured.NestedString(account.Object, "status", "failureReason")
	require.NoError(t, err)
	require.False(t, found, reason)

	a.ask("backup", "foreign", "os:etcd:backup")
	a.ask("other", "mine", "os:etcd:backup")
	a.ask("backup", "mighty", "os:admin", "os:etcd:backup")
	a.isRefused("backup", "foreign", "Secret already exists and is not managed by controller: backup/foreign")
	a.isRefused("other", "mine", "Namespace is not allowed: other")
	a.isRefused("backup", "mighty", "Roles not allowed: [os:admin]")

	secret.Data["config"] = []byte("spoilt")
	_, err = c.CoreV1().Secrets("backup").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, repaired := a.talosconfig("backup", "mine")
	require.Equal(t, secret.UID, repaired.UID)
	require.NoError(t, c.CoreV1().Secrets("backup").Delete(t.Context(), "foreign", metav1.DeleteOptions{}))
	a.talosconfig("backup", "foreign")
}
