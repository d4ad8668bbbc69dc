package e2e_test

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/em-infra/em-infra/internal/lab"
)

// TestE2ELifeOfACluster is the life of k3s-dev: up, nothing to do, one worker more, gone.
func TestE2ELifeOfACluster(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-life")

	r.mustRun(0, "lab", "start", "--seed", dataDiskFirst)
	before := r.hostFiles()
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.NotContains(t, output, "a run works on this stack", "its own claim is none of another run")
	require.Contains(t, output, "k3s-dev is up")
	nodes := r.nodes()
	require.Len(t, nodes, 2)
	r.secureAPIAnswers(nodes)
	r.kubeconfigLeadsTo("k3s-dev")
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1")

	r.mustRun(0, "preview", "--lab")
	seen := len(r.calls())
	require.Contains(t, r.onTerminal(0, "up", "--lab", "--yes"), "\x1b[32mk3s-dev is up\x1b[m")
	require.Empty(t, writes(r.calls()[seen:]), "a second up writes nothing")
	require.Contains(t, r.onTerminal(0, "status", "--lab"), "\x1b[32mReady\x1b[m")
	r.mustRun(0, "preview", "--lab", "--refresh")
	r.runsWhatTheDocsSay()

	r.addNode("{name: k3s-dev-worker-2, role: worker, vmid: 104, address: 192.168.20.22," +
		" dataDisks: [{sizeGiB: 20, mount: models}], networks: [{bridge: vmbr0, vlan: 40, address: 10.0.40.22/24}]}")
	require.Contains(t, r.onTerminal(2, "preview", "--lab"), " \x1b[32mCREATE  \x1b[m k3s-dev-worker-2 ")
	r.onTerminal(2, "drift", "--lab")
	seen = len(r.calls())
	r.mustRun(0, "up", "--lab", "--yes")
	for _, write := range writes(r.calls()[seen:]) {
		require.True(t, strings.Contains(write, "/qemu/104") || strings.HasSuffix(write, "/qemu/9000/clone"), "only the new worker is touched, not: %s", write)
	}
	r.secureAPIAnswers(r.nodes())
	r.nodesAreReady("k3s-dev-control-1", "k3s-dev-worker-1", "k3s-dev-worker-2")
	r.disksAreFound(r.nodes()[2])
	r.roomComesWithTheNextBoot()
	r.mustRun(0, "preview", "--lab", "--refresh")
	r.aVolumeKeepsItsName()

	r.onTerminal(0, "destroy", "--lab", "--yes")
	after := r.hostFiles()
	require.Equal(t, before.VMs, after.VMs, "every machine is gone, the template too")
	require.Len(t, after.ISOs, len(before.ISOs)+1, "the ISO is kept: a machine that names it would not start without it")
	require.NoFileExists(t, filepath.Join(r.dir(), "kubeconfig"))
}

// aVolumeKeepsItsName: the disk that Talos has given to models has no room for another volume.
func (r *rehearsal) aVolumeKeepsItsName() {
	r.t.Helper()
	r.edit("nodes.yaml", "mount: models", "mount: weights")
	seen := len(r.calls())
	refused := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(r.t, refused, "dataDisks[0].mount models → weights cannot change: the disk keeps the volume that was made on it")
	require.Contains(r.t, refused, "set dataDisks[0].mount back to models for k3s-dev-worker-2")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.edit("nodes.yaml", "mount: weights", "mount: models")
	r.mustRun(0, "preview", "--lab", "--refresh")
}

// nodes returns the nodes of the talosconfig that up has written.
func (r *rehearsal) nodes() []string {
	r.t.Helper()
	config, err := clientconfig.FromString(r.read(filepath.Join(r.dir(), "talosconfig")))
	require.NoError(r.t, err)
	return config.Contexts[config.Context].Nodes
}

// secureAPIAnswers queries the version of each node, through the endpoints of the talosconfig as talosctl does.
func (r *rehearsal) secureAPIAnswers(nodes []string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	api, err := client.New(ctx, client.WithConfigFromFile(filepath.Join(r.dir(), "talosconfig")))
	require.NoError(r.t, err)
	defer api.Close()
	for _, node := range nodes {
		version, err := api.Version(client.WithNode(ctx, node))
		require.NoError(r.t, err, node)
		require.Equal(r.t, "v1.12.4", version.GetMessages()[0].GetVersion().GetTag(), node)
	}
}

func (r *rehearsal) kubeconfigLeadsTo(cluster string) {
	r.t.Helper()
	config, err := clientcmd.LoadFromFile(filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	require.Contains(r.t, config.Clusters, cluster)
	vip := description.Network.Addr().As4()
	vip[3] = 10
	require.Equal(r.t, "https://"+netip.AddrFrom4(vip).String()+":6443", config.Clusters[cluster].Server)
	info, err := os.Stat(filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	require.Equal(r.t, os.FileMode(0o600), info.Mode().Perm())
}

// hostFiles are what the lab's host holds.
type hostFiles struct{ VMs, ISOs []string }

func (r *rehearsal) hostFiles() hostFiles {
	r.t.Helper()
	node := r.host()
	machines, err := node.VirtualMachines(r.t.Context())
	require.NoError(r.t, err)
	local, err := node.Storage(r.t.Context(), "local")
	require.NoError(r.t, err)
	content, err := local.GetContent(r.t.Context())
	require.NoError(r.t, err)

	var files hostFiles
	for _, machine := range machines {
		files.VMs = append(files.VMs, machine.Name)
	}
	for _, volume := range content {
		files.ISOs = append(files.ISOs, volume.Volid)
	}
	return files
}

// kubernetes returns a client of the cluster, as the kubeconfig that up has written leads to it.
func (r *rehearsal) kubernetes() kubernetes.Interface {
	r.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(r.dir(), "kubeconfig"))
	require.NoError(r.t, err)
	api, err := kubernetes.NewForConfig(config)
	require.NoError(r.t, err)
	return api
}

// nodesAreReady queries the Kubernetes API at the address in the kubeconfig, until exactly these nodes are Ready.
func (r *rehearsal) nodesAreReady(want ...string) {
	r.t.Helper()
	api := r.kubernetes()
	r.eventually("nodes are Ready: "+strings.Join(want, ", "), func() bool {
		nodes, err := api.CoreV1().Nodes().List(r.t.Context(), metav1.ListOptions{})
		if err != nil {
			return false // the API is starting
		}
		var ready []string
		for _, node := range nodes.Items {
			if isReady(node) {
				ready = append(ready, node.Name)
			}
		}
		return slices.Equal(ready, want)
	})
}

func isReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(condition corev1.NodeCondition) bool {
		return condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue
	})
}
