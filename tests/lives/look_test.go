package lives_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// see reads the actual state: the files in which the lab keeps its host and its nodes, Kubernetes, the state, and the
// processes.
func (f *life) see() model.Seen {
	f.t.Helper()
	text, err := f.labFile("host.json")
	if errors.Is(err, fs.ErrNotExist) {
		return model.Seen{}
	}
	require.NoError(f.t, err)
	host, err := model.ReadHost(text, f.running())
	require.NoError(f.t, err)
	seen := model.Seen{Host: host, Members: f.members(), Settings: map[int]model.Settings{}, Running: f.workers()}
	for _, m := range host.Machines {
		seen.Settings[m.VMID] = f.settings(m)
	}
	for _, stack := range f.lane.stacks() {
		state, err := stack.State()
		require.NoError(f.t, err)
		for _, pending := range state.PendingOperations {
			seen.Pending = append(seen.Pending, fmt.Sprintf("%s %s", pending.Type, pending.Resource.URN.Name()))
		}
	}
	if len(host.Machines) > 0 {
		f.seeCluster(&seen)
	}
	return seen
}

// running returns the machines that run, according to the host.
func (f *life) running() map[int]bool {
	f.t.Helper()
	var machines []struct {
		VMID   int
		Status string
	}
	f.eventually("the host answers", func() bool {
		machines = nil
		return f.api().Get(f.t.Context(), "/cluster/resources?type=vm", &machines) == nil
	})
	runs := map[int]bool{}
	for _, m := range machines {
		runs[m.VMID] = m.Status == "running"
	}
	return runs
}

func (f *life) labFile(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{f.lane.labDir()}, path...)...))
}

// members returns the etcd members of the lab's nodes.
func (f *life) members() []string {
	f.t.Helper()
	text, err := f.labFile("nodes", "etcd.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(f.t, err)
	var clusters []struct {
		Members []struct{ Name string } `json:"members"`
	}
	require.NoError(f.t, json.Unmarshal(text, &clusters))
	var names []string
	for _, cluster := range clusters {
		for _, member := range cluster.Members {
			names = append(names, member.Name)
		}
	}
	slices.Sort(names)
	return names
}

// configuration returns the machine configuration on the system disk of a machine.
func (f *life) configuration(m model.Machine) []byte {
	f.t.Helper()
	if len(m.Disks) == 0 {
		return nil
	}
	text, err := f.labFile("nodes", "disks", m.Disks[0].Identity+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(f.t, err)
	var disk struct {
		Config []byte `json:"config"`
	}
	if json.Unmarshal(text, &disk) != nil {
		return nil // it is being written
	}
	return disk.Config
}

func (f *life) settings(m model.Machine) model.Settings {
	f.t.Helper()
	var document struct {
		Machine struct {
			Sysctls map[string]string `yaml:"sysctls"`
			Udev    struct {
				Rules []string `yaml:"rules"`
			} `yaml:"udev"`
		} `yaml:"machine"`
	}
	// The first document contains them.
	require.NoError(f.t, yaml.Unmarshal(f.configuration(m), &document))
	return model.Settings{Sysctls: document.Machine.Sysctls, Udev: document.Machine.Udev.Rules}
}

// kubernetes returns a client of the cluster, as the kubeconfig that up has written leads to it.
func (f *life) kubernetes() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(f.stack.Dir(), "kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

func (f *life) seeCluster(seen *model.Seen) {
	ctx, cancel := context.WithTimeout(f.t.Context(), 10*time.Second)
	defer cancel()
	api, err := f.kubernetes()
	if err != nil {
		seen.Unreachable = err.Error()
		return
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		seen.Unreachable = err.Error()
		return
	}
	canaries, err := api.CoreV1().ConfigMaps(canaryNamespace).List(ctx, metav1.ListOptions{LabelSelector: canaryLabel})
	if err != nil {
		seen.Unreachable = err.Error()
		return
	}
	if seen.Guarded, err = readyGuarded(ctx, api); err != nil {
		seen.Unreachable = err.Error()
		return
	}
	seen.Nodes = map[string]model.Node{}
	for _, node := range nodes.Items {
		seen.Nodes[node.Name] = model.Node{
			Ready: isReady(node), Cordoned: node.Spec.Unschedulable, Label: node.Labels[site.Label],
			Talos: talosOf(node), Kubelet: node.Status.NodeInfo.KubeletVersion,
		}
	}
	for _, canary := range canaries.Items {
		seen.Canaries = append(seen.Canaries, canary.Name)
	}
}

// talosOf returns the release in the name that Talos gives the system: Talos (v1.12.4).
func talosOf(node corev1.Node) string {
	return strings.TrimSuffix(strings.TrimPrefix(node.Status.NodeInfo.OSImage, "Talos ("), ")")
}

func isReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

const (
	canaryNamespace = "default"
	canaryLabel     = "lives/canary"
)

// leaveCanary creates an object in etcd before a move, while Kubernetes answers. A restore that has not ended would take it back.
func (f *life) leaveCanary(n int) {
	f.t.Helper()
	if f.gone || f.restoring {
		return
	}
	api, err := f.kubernetes()
	if err != nil {
		return
	}
	canary := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("canary-%d", n), Labels: map[string]string{canaryLabel: ""}}}
	if _, err := api.CoreV1().ConfigMaps(canaryNamespace).Create(f.t.Context(), canary, metav1.CreateOptions{}); err == nil {
		f.keeper.Remember(model.Seen{Canaries: []string{canary.Name}})
	}
}

// secretKeys are the keys of machine configurations, talosconfig and kubeconfig whose values are secret.
var secretKeys = []string{"token", "key", "secret", "secretboxEncryptionSecret", "aescbcEncryptionSecret", "client-key-data"}

// secretsOfNodes returns the secrets of the stack: those of the nodes' configurations, of the files that open the cluster, of
// the host and of the state itself.
func (f *life) secretsOfNodes() []string {
	f.t.Helper()
	var secrets []string
	for _, m := range f.see().Machines {
		secrets = append(secrets, secretsIn(f.t, f.configuration(m))...)
	}
	for _, name := range []string{"talosconfig", "kubeconfig"} {
		text, err := os.ReadFile(filepath.Join(f.stack.Dir(), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(f.t, err)
		secrets = append(secrets, secretsIn(f.t, text)...)
	}
	for _, stack := range f.lane.stacks() {
		passphrase, err := os.ReadFile(filepath.Join(stack.Dir(), "passphrase"))
		require.NoError(f.t, err)
		secrets = append(secrets, strings.TrimSpace(string(passphrase)))
	}
	_, token, _ := strings.Cut(f.description().Token, "=")
	return append(secrets, append(f.secretsOfLayers(), token)...)
}

// secretsIn returns the values of secret keys in the first document of a file.
func secretsIn(t require.TestingT, text []byte) []string {
	var document any
	require.NoError(t, yaml.Unmarshal(text, &document))
	return secretsBelow(document)
}

// shortestKey is less than any private key.
const shortestKey = 64

func secretsBelow(value any) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, secretsBelow(item)...)
		}
	case map[string]any:
		for key, item := range v {
			text, isText := item.(string)
			isName := key == "key" && len(text) < shortestKey // e.g. of a toleration
			if isText && slices.Contains(secretKeys, key) && !isName {
				found = append(found, text)
			}
			found = append(found, secretsBelow(item)...)
		}
	}
	return found
}
