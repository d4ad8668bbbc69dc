package adoption_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/ownership"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/adoption"
)

// now is the time of these tests.
var now = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

// first and second are the machine secrets of two clusters, in the form of talosctl. The keys of each take seconds.
var first, second = sync.OnceValues(newBundle), sync.OnceValues(newBundle)

func newBundle() ([]byte, error) {
	made, err := secrets.NewBundle(secrets.NewFixedClock(now), config.TalosVersion1_12)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(made)
}

// copied returns a copy of machine secrets, which a test may change.
func copied(t *testing.T, of func() ([]byte, error)) *secrets.Bundle {
	t.Helper()
	text, err := of()
	require.NoError(t, err)
	bundle, err := secrets.LoadBundle(writeFile(t, text))
	require.NoError(t, err)
	return bundle
}

func bundle(t *testing.T) *secrets.Bundle { return copied(t, first) }

func writeFile(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secrets.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

// configured returns the machine configuration of a node of the cluster k3s-dev.
func configured(t *testing.T, bundle *secrets.Bundle, kind machine.Type, options ...generate.Option) []byte {
	t.Helper()
	options = append(options, generate.WithSecretsBundle(bundle), generate.WithVersionContract(config.TalosVersion1_12))
	input, err := generate.NewInput("k3s-dev", "https://192.168.20.10:6443", "1.35.4", options...)
	require.NoError(t, err)
	made, err := input.Config(kind)
	require.NoError(t, err)
	text, err := made.Bytes()
	require.NoError(t, err)
	return text
}

const (
	firmware = "11111111-2222-4333-8444-555555555555"
	another  = "99999999-2222-4333-8444-555555555555"
)

// described returns the inventory of the cluster.
func described(t *testing.T) *inventory.Inventory {
	t.Helper()
	var version inventory.KubernetesVersion
	require.NoError(t, version.UnmarshalText([]byte("v1.35.4")))
	return &inventory.Inventory{Cluster: inventory.Cluster{
		Name: "k3s-dev",
		Kubernetes: inventory.Kubernetes{
			Version: version, CNI: inventory.CNIFlannel,
			PodSubnets: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, ServiceSubnets: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
		},
	}}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	made := bundle(t)
	owner := ownership.Owner{Stack: "k3s-dev", Cluster: ownership.Short(made.Cluster.ID)}
	control := configured(t, made, machine.TypeControlPlane)
	for _, test := range []struct {
		name    string
		change  func(*adoption.Survey, *adoption.Seen)
		refusal string
	}{
		{"ours", func(*adoption.Survey, *adoption.Seen) {}, ""},
		{"ours, and silent", func(_ *adoption.Survey, s *adoption.Seen) {
			s.Configuration, s.Kubernetes, s.Firmware, s.Silent = nil, "", "", errors.New("its Talos API does not answer")
		}, ""},
		{"the other order of bytes in the firmware", func(_ *adoption.Survey, s *adoption.Seen) {
			s.Firmware = "11111111-2222-3343-8444-555555555555"
		}, ""},
		{"without a mark, and proven", func(_ *adoption.Survey, s *adoption.Seen) { s.Machine.Owner = ownership.Owner{} }, ""},
		{"without a mark, and silent", func(_ *adoption.Survey, s *adoption.Seen) {
			s.Machine.Owner, s.Configuration = ownership.Owner{}, nil
		}, "VM 101 (k3s-dev-control-1) on vmhost names no owner, and 192.168.20.11 does not answer: start it, so that it proves that it is of this cluster, then run adopt again"},
		{"without a mark, and without a UUID", func(_ *adoption.Survey, s *adoption.Seen) {
			s.Machine.Owner, s.Firmware = ownership.Owner{}, ""
		}, "VM 101 (k3s-dev-control-1) on vmhost names no owner, and 192.168.20.11 does not say that it is that machine: correct vmid or address in nodes.yaml"},
		{"another stack's", func(_ *adoption.Survey, s *adoption.Seen) { s.Machine.Owner.Stack = "home" },
			"VM 101 (k3s-dev-control-1) on vmhost belongs to stack home, cluster " + owner.Cluster + ", and the machine secrets are those of " + owner.String() + ": name the machines of this cluster in nodes.yaml, or give the secrets of that one"},
		{"another cluster's", func(_ *adoption.Survey, s *adoption.Seen) { s.Machine.Owner.Cluster = "0123456789ab" },
			"VM 101 (k3s-dev-control-1) on vmhost belongs to stack k3s-dev, cluster 0123456789ab, and the machine secrets are those of " + owner.String() + ": name the machines of this cluster in nodes.yaml, or give the secrets of that one"},
		{"under another authority", func(_ *adoption.Survey, s *adoption.Seen) { s.Configuration, s.Foreign = nil, true },
			"VM 101 (k3s-dev-control-1) on vmhost: what answers at 192.168.20.11 does not know the machine secrets: give the secrets of its cluster, or correct the address in nodes.yaml"},
		{"being cloned", func(_ *adoption.Survey, s *adoption.Seen) { s.Machine.Lock = "clone" },
			"VM 101 (k3s-dev-control-1) on vmhost is being made or worked on: wait until its task ends, then run adopt again"},
		{"another role", func(_ *adoption.Survey, s *adoption.Seen) { s.Node.Role = inventory.RoleWorker },
			"VM 101 (k3s-dev-control-1) on vmhost runs as another role than worker in nodes.yaml: correct its role or its address"},
		{"another machine's address", func(_ *adoption.Survey, s *adoption.Seen) { s.Firmware = another },
			"VM 101 (k3s-dev-control-1) on vmhost is not the machine that runs at 192.168.20.11: correct vmid or address in nodes.yaml"},
		{"no machine", func(_ *adoption.Survey, s *adoption.Seen) { *s = adoption.Seen{Node: s.Node} },
			"no machine of the inventory is on its host: there is nothing to adopt; `em-infra up` makes the cluster"},
		{"its machine has another VMID", func(survey *adoption.Survey, s *adoption.Seen) {
			s.Machine = nil // it answers at its address
			survey.Others = []pve.Guest{{VMID: 151, Name: s.Node.Name, Node: "vmhost"}}
		}, "VM 151 (k3s-dev-control-1) on vmhost belongs to this cluster and is missing in nodes.yaml: set the vmid of k3s-dev-control-1 from 101 to 151"},
		{"a machine that has left the inventory", func(survey *adoption.Survey, _ *adoption.Seen) {
			survey.Others = []pve.Guest{{VMID: 102, Name: "k3s-dev-control-2", Node: "vmhost"}}
		}, "VM 102 (k3s-dev-control-2) on vmhost belongs to this cluster and is missing in nodes.yaml: add it to nodes.yaml, adopt the cluster, and remove it afterwards; or delete the VM if it is no longer needed"},
		{"a machine that runs and is not found", func(_ *adoption.Survey, s *adoption.Seen) { s.Machine = nil },
			"k3s-dev-control-1 runs at 192.168.20.11, and VM 101, which it has in nodes.yaml, is not there: set its vmid to that of its machine"},
		{"other networks", func(s *adoption.Survey, _ *adoption.Seen) {
			s.Inventory.Cluster.Name = "home"
			s.Inventory.Cluster.Kubernetes.PodSubnets = []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}
			s.Inventory.Cluster.Kubernetes.CNI = inventory.CNICilium
		}, "cluster.yaml: name is home, and the cluster was made with k3s-dev: set it to k3s-dev\n" +
			"cluster.yaml: kubernetes.podSubnets is 10.1.0.0/16, and the cluster was made with 10.244.0.0/16: set it to 10.244.0.0/16\n" +
			"cluster.yaml: kubernetes.cni is cilium, and the cluster was made with flannel: set it to flannel"},
		{"another Kubernetes", func(_ *adoption.Survey, s *adoption.Seen) { s.Kubernetes = "v1.34.1" },
			"cluster.yaml: kubernetes.version is v1.35.4, and k3s-dev-control-1 runs v1.34.1: set it to that, adopt the cluster, and upgrade it afterwards"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			survey := adoption.Survey{Inventory: described(t), Owner: owner, Nodes: []adoption.Seen{{
				Node:          inventory.Node{Name: "k3s-dev-control-1", Role: inventory.RoleControlPlane, VMID: 101, Address: netip.MustParseAddr("192.168.20.11")},
				Machine:       &pve.Machine{Node: "vmhost", Name: "k3s-dev-control-1", Owner: owner, Birth: firmware, Running: true},
				Configuration: control, Kubernetes: "v1.35.4", Firmware: firmware,
			}}}
			test.change(&survey, &survey.Nodes[0])
			require.Equal(t, test.refusal, strings.Join(survey.Refusals(), "\n"))
		})
	}
}

// TestACNIOfItsOwn: what Talos installs from URLs, or not at all, is none in an inventory, or cilium as an addon.
func TestACNIOfItsOwn(t *testing.T) {
	t.Parallel()
	made := bundle(t)
	for _, test := range []struct {
		cni     string
		wanted  inventory.CNI
		refusal string
	}{
		{"custom", inventory.CNINone, ""},
		{"custom", inventory.CNICilium, ""},
		{"none", inventory.CNICilium, ""},
		{"custom", inventory.CNIFlannel, "cluster.yaml: kubernetes.cni is flannel, and the cluster was made with custom: set it to none"},
		{"none", inventory.CNIFlannel, "cluster.yaml: kubernetes.cni is flannel, and the cluster was made with none: set it to none"},
	} {
		t.Run(test.cni+" and "+string(test.wanted), func(t *testing.T) {
			t.Parallel()
			cni := &v1alpha1.CNIConfig{CNIName: test.cni}
			if test.cni == "custom" {
				cni.CNIUrls = []string{"https://charts.example/calico.yaml"}
			}
			survey := adoption.Survey{Inventory: described(t), Nodes: []adoption.Seen{{
				Node:          inventory.Node{Name: "k3s-dev-control-1", Role: inventory.RoleControlPlane, VMID: 101},
				Machine:       &pve.Machine{Node: "vmhost", Birth: firmware},
				Configuration: configured(t, made, machine.TypeControlPlane, generate.WithClusterCNIConfig(cni)), Firmware: firmware,
			}}}
			survey.Inventory.Cluster.Kubernetes.CNI = test.wanted
			require.Equal(t, test.refusal, strings.Join(survey.Refusals(), "\n"))
		})
	}
}

func TestSecretsFitTheNodes(t *testing.T) {
	t.Parallel()
	made, others := bundle(t), copied(t, second)
	survey := adoption.Survey{Inventory: described(t), Nodes: []adoption.Seen{
		{Node: inventory.Node{Name: "k3s-dev-control-1", Role: inventory.RoleControlPlane}, Configuration: configured(t, made, machine.TypeControlPlane)},
		{Node: inventory.Node{Name: "k3s-dev-worker-1", Role: inventory.RoleWorker}, Configuration: configured(t, made, machine.TypeWorker)},
	}}
	given, err := adoption.SecretsIn(configured(t, made, machine.TypeControlPlane), now)
	require.NoError(t, err)
	require.Empty(t, survey.DifferingSecrets(given, now))

	others.Certs.OS = made.Certs.OS // a bundle that was mixed from two
	given, err = adoption.SecretsIn(configured(t, others, machine.TypeControlPlane), now)
	require.NoError(t, err)
	require.Equal(t, []string{
		"k3s-dev-control-1 runs with other machine secrets than those that were given (cluster.id, cluster.secret, certs.k8s, certs.etcd, certs.k8saggregator, certs.k8sserviceaccount, secrets, trustdinfo): give the secrets of this cluster, or leave --secrets out to read them from it",
	}, survey.DifferingSecrets(given, now))
}

func TestNotesAndBirths(t *testing.T) {
	t.Parallel()
	survey := adoption.Survey{Nodes: []adoption.Seen{
		{Node: inventory.Node{Name: "k3s-dev-control-1", VMID: 101}, Machine: &pve.Machine{Birth: firmware}},
		{Node: inventory.Node{Name: "k3s-dev-worker-1", VMID: 102}},
		{Node: inventory.Node{Name: "k3s-dev-worker-2", VMID: 103}, Machine: &pve.Machine{Birth: another}, Silent: errors.New("its Talos API does not answer")},
	}}
	require.Equal(t, []string{firmware, "", another}, survey.Births())
	require.Equal(t, []string{
		"k3s-dev-worker-1: VM 102 is not there, so it is not adopted",
		"k3s-dev-worker-2 does not answer (its Talos API does not answer): its machine is known by its mark, its configuration is not compared",
	}, survey.Notes())
}
