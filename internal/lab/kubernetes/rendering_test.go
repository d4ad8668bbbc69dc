package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/lab/kubernetes"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// golden compares with a file. Addresses of the test's own network are replaced by those of 192.168.20.0/24.
func (s *site) golden(name, got string) {
	s.t.Helper()
	network := s.network.Addr().String()
	got = strings.ReplaceAll(got, strings.TrimSuffix(network, "0"), "192.168.20.")
	golden.Equal(s.t, filepath.Join("testdata", name), got)
}

func listing(arguments map[string][]string) string {
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		fmt.Fprintf(&text, "# %s\n%s\n\n", name, strings.Join(arguments[name], "\n"))
	}
	return text.String()
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	arguments, err := kubernetes.Arguments("/lab", s.node(101, machine.TypeControlPlane))
	require.NoError(t, err)
	s.golden("arguments.txt", listing(arguments))
	for name, values := range s.secrets() {
		require.NotContains(t, listing(arguments), values, "%s is in the arguments", name)
	}
}

// secrets returns the secrets of the cluster that must not be visible in a process list.
func (s *site) secrets() map[string]string {
	bundle := s.input.Options.SecretsBundle
	return map[string]string{
		"the token": bundle.Secrets.BootstrapToken, "the secretbox key": bundle.Secrets.SecretboxEncryptionSecret,
		"the service account key": string(bundle.Certs.K8sServiceAccount.Key),
	}
}

func TestArgumentsOfTheMachineConfiguration(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	extra := func(api map[string]string) func(*v1alpha1.Config) {
		return func(c *v1alpha1.Config) {
			c.ClusterConfig.APIServerConfig.ExtraArgsConfig = api
		}
	}
	apiServer := func(args map[string]string) ([]string, error) {
		arguments, err := kubernetes.Arguments("/lab", s.node(101, machine.TypeControlPlane, extra(args)))
		return arguments["kube-apiserver"], err
	}

	got, err := apiServer(map[string]string{"enable-admission-plugins": "AlwaysPullImages", "event-ttl": "2h", "secure-port": "1"})
	require.NoError(t, err)
	require.Subset(t, got, []string{"--enable-admission-plugins=NodeRestriction,AlwaysPullImages", "--event-ttl=2h", "--secure-port=1003"})

	got, err = apiServer(map[string]string{"authorization-mode": "Node,Webhook"})
	require.NoError(t, err)
	require.Contains(t, got, "--authorization-mode=Node,RBAC,Webhook")
	require.NotContains(t, got, "--authorization-config=/lab/settings/authorization-config.yaml")

	_, err = apiServer(map[string]string{"tls-cert-file": "/elsewhere"})
	require.EqualError(t, err, `arguments of kube-apiserver: extra arg "tls-cert-file" is not allowed`)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t, ourSecrets), t.TempDir()
	require.NoError(t, kubernetes.Prepare(dir, s.node(101, machine.TypeControlPlane)))
	for _, name := range []string{"admission-control-config.yaml", "auditpolicy.yaml", "authorization-config.yaml", "scheduler-config.yaml"} {
		text, err := os.ReadFile(filepath.Join(dir, "settings", name))
		require.NoError(t, err)
		s.golden(name, strings.ReplaceAll(string(text), dir, "/lab")+"\n")
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	for name, node := range map[string]talos.KubernetesNode{
		"node-control-plane.json": s.node(101, machine.TypeControlPlane),
		"node-worker.json": s.node(111, machine.TypeWorker, func(c *v1alpha1.Config) {
			c.MachineConfig.MachineNodeLabels = map[string]string{"rack": "a1"}
			c.MachineConfig.MachineNodeAnnotations = map[string]string{"owner": "lab"}
			c.MachineConfig.MachineNodeTaints = map[string]string{"dedicated": "gpu:NoSchedule", "slow": "PreferNoSchedule"}
		}),
	} {
		object, err := kubernetes.NewNode(node, time.Unix(0, 0).UTC())
		require.NoError(t, err)
		text, err := json.MarshalIndent(object, "", "  ")
		require.NoError(t, err)
		s.golden(name, string(text)+"\n")
	}
}

// TestAKubeletBringsItsTaintsAlong: on a worker this is the only way to set a taint, because a kubelet must not change one
// later.
func TestAKubeletBringsItsTaintsAlong(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	own := corev1.Taint{Key: constants.LabelNodeRoleControlPlane, Effect: corev1.TaintEffectNoSchedule}
	brought := corev1.Taint{Key: "nvidia.com/gpu", Value: "present", Effect: corev1.TaintEffectNoSchedule}
	with := func(c *v1alpha1.Config) {
		c.MachineConfig.MachineKubelet.KubeletExtraConfig = v1alpha1.Unstructured{Object: map[string]any{
			"registerWithTaints": []any{map[string]any{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}},
		}}
	}
	for _, test := range []struct {
		node talos.KubernetesNode
		want []corev1.Taint
	}{
		{s.node(111, machine.TypeWorker, with), []corev1.Taint{brought}},
		{s.node(101, machine.TypeControlPlane, with), []corev1.Taint{brought, own}},
		{s.node(112, machine.TypeWorker), nil},
	} {
		taints, err := kubernetes.RegisteredTaints(test.node)
		require.NoError(t, err)
		require.Equal(t, test.want, taints)
	}
}

// TestMachineConfigurationThatWantsLess: Talos removes what it has set; values of other owners stay.
func TestMachineConfigurationThatWantsLess(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	labels := func(wanted map[string]string) talos.KubernetesNode {
		node := s.node(111, machine.TypeWorker, func(c *v1alpha1.Config) {
			c.MachineConfig.MachineNodeLabels = wanted
			c.MachineConfig.MachineNodeTaints = wanted
		})
		node.Release.Extensions = nil
		return node
	}
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "a", "zone": "x"}}}
	object.Spec.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoExecute}}

	require.NoError(t, kubernetes.ApplyTo(object, labels(map[string]string{"rack": "NoSchedule", "zone": "NoExecute"})))
	require.Equal(t, map[string]string{"team": "a", "zone": "x", "rack": "NoSchedule"}, object.Labels, "zone is not Talos' own")
	require.Equal(t, `["rack"]`, object.Annotations[constants.AnnotationOwnedLabels])
	require.Len(t, object.Spec.Taints, 3)

	require.NoError(t, kubernetes.ApplyTo(object, labels(nil)))
	require.Equal(t, map[string]string{"team": "a", "zone": "x"}, object.Labels)
	require.Equal(t, []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoExecute}}, object.Spec.Taints)
	require.Empty(t, object.Annotations)

	object.Annotations = map[string]string{constants.AnnotationOwnedTaints: "x"}
	require.EqualError(t, kubernetes.ApplyTo(object, labels(nil)),
		"annotation talos.dev/owned-taints: invalid character 'x' looking for beginning of value")
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	s := newSite(t, ourSecrets)
	vip := func(c *v1alpha1.Config) {
		c.MachineConfig.MachineNetwork = &v1alpha1.NetworkConfig{NetworkInterfaces: v1alpha1.NetworkDeviceList{
			{DeviceInterface: "eth0", DeviceVIPConfig: &v1alpha1.DeviceVIPConfig{SharedIP: number(s.network, 9).String()}},
			{DeviceInterface: "eth1", DeviceVIPConfig: &v1alpha1.DeviceVIPConfig{SharedIP: "10.0.0.1"}},
		}}
	}
	var got []string
	for _, address := range kubernetes.Endpoints([]talos.KubernetesNode{
		s.node(102, machine.TypeControlPlane, vip), s.node(101, machine.TypeControlPlane, vip),
	}) {
		got = append(got, address.String())
	}
	var wanted []string
	for _, last := range []byte{9, 10, 11, 12} {
		wanted = append(wanted, netip.AddrPortFrom(number(s.network, last), 6443).String())
	}
	require.Equal(t, wanted, got)
	require.Empty(t, kubernetes.Endpoints(nil))
}

func TestTrust(t *testing.T) {
	t.Parallel()
	ours, theirs := newSite(t, ourSecrets), newSite(t, theirSecrets)
	controlPlane := ours.config(machine.TypeControlPlane)
	require.True(t, kubernetes.Trusts(ours.config(machine.TypeWorker), controlPlane))
	require.False(t, kubernetes.Trusts(theirs.config(machine.TypeWorker), controlPlane))
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	const s = time.Second
	require.Equal(t, [4]time.Duration{10 * s, 40 * s, 5 * s, 50 * s}, kubernetes.Heartbeat(1), "Kubernetes' own")
	require.Equal(t, [4]time.Duration{2 * s, 8 * s, s, 10 * s}, kubernetes.Heartbeat(0.1))
	require.Equal(t, [4]time.Duration{2 * s, 8 * s, s, 10 * s}, kubernetes.Heartbeat(0))
}
