package kubernetes

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Groups of kubelets, without and with a certificate.
const (
	bootstrappers = "system:bootstrappers:nodes"
	kubelets      = "system:nodes"
)

// rbacDefaults mark the initial RBAC rules of a cluster.
var rbacDefaults = map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}

// accessManifests allow kubelets to join, and give their Pods and Talos itself access to the API
// (k8stemplates/{csr,kubelet,kubeconfig,talos}.go).
func accessManifests(cfg config.Provider) []manifest {
	token := cfg.Cluster().Token()
	return []manifest{
		{"00-kubelet-bootstrapping-token", []runtime.Object{&corev1.Secret{
			ObjectMeta: system("bootstrap-token-"+token.ID(), nil), Type: corev1.SecretTypeBootstrapToken,
			StringData: map[string]string{
				"token-id": token.ID(), "token-secret": token.Secret(), "usage-bootstrap-authentication": "true",
				"auth-extra-groups": bootstrappers,
			},
		}}},
		{"01-csr-node-bootstrap", []runtime.Object{
			groupBinding("system-bootstrap-node-bootstrapper", "system:node-bootstrapper", bootstrappers, kubelets),
		}},
		{"01-csr-approver-role-binding", []runtime.Object{groupBinding("system-bootstrap-approve-node-client-csr",
			"system:certificates.k8s.io:certificatesigningrequests:nodeclient", bootstrappers)}},
		{"01-csr-renewal-role-binding", []runtime.Object{groupBinding("system-bootstrap-node-renewal",
			"system:certificates.k8s.io:certificatesigningrequests:selfnodeclient", kubelets)}},
		{"11-kube-config-in-cluster", []runtime.Object{&corev1.ConfigMap{
			ObjectMeta: system("kubeconfig-in-cluster", nil), Data: map[string]string{"kubeconfig": inClusterKubeconfig(cfg)},
		}}},
		{"11-talos-node-rbac-template", talosNodes()},
	}
}

// talosNodes allows workers to find the API servers.
func talosNodes() []runtime.Object {
	binding := groupBinding("system:talos-nodes", "system:talos-nodes", kubelets)
	binding.Labels = rbacDefaults
	binding.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
	return []runtime.Object{binding, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "system:talos-nodes", Labels: rbacDefaults},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"get", "list", "watch"},
		}},
	}}
}

// inClusterKubeconfig returns a kubeconfig for a Pod in the host network. It uses KubePrism if that is enabled.
func inClusterKubeconfig(cfg config.Provider) string {
	server := cfg.Cluster().Endpoint().String()
	if prism := cfg.Machine().Features().KubePrism(); prism.Enabled() {
		server = fmt.Sprintf("https://127.0.0.1:%d", prism.Port())
	}
	const account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	return fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
  - name: local
    cluster: {server: %q, certificate-authority: %sca.crt}
users:
  - name: service-account
    user: {tokenFile: %stoken}
contexts:
  - name: local
    context: {cluster: local, user: service-account}
current-context: local
`, server, account, account)
}

func groupBinding(name, role string, groups ...string) *rbacv1.ClusterRoleBinding {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, group := range groups {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
	}
	return binding
}

// accountBinding grants a role to a service account of kube-system.
func accountBinding(name, role, account string) *rbacv1.ClusterRoleBinding {
	binding := groupBinding(name, role)
	binding.Subjects = []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: metav1.NamespaceSystem}}
	return binding
}
