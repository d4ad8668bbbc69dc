package status_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/recovery"
	"github.com/em-infra/em-infra/operator/internal/status"
)

func wellReport() status.Report {
	running := &nodeops.Observation{Talos: "v1.12.4", Stage: "running"}
	return status.Report{
		Cluster: "k3s-dev", Time: today, Networked: true,
		Machines: []status.Machine{
			{
				Name: "k3s-dev-control-1", Role: inventory.RoleControlPlane, Host: "vmhost", VMID: 101, Address: netip.MustParseAddr("192.168.20.11"),
				VM: "running", Known: true, Node: running, Kubernetes: &status.KubernetesNode{Ready: true, Kubelet: "v1.35.4"},
			},
			{
				Name: "k3s-dev-gpu-1", Role: inventory.RoleGPUWorker, Host: "vmhost", VMID: 103, Address: netip.MustParseAddr("192.168.20.31"),
				VM: "running", Known: true, Node: running, Kubernetes: &status.KubernetesNode{Ready: true, Kubelet: "v1.35.4", GPUs: 2},
			},
		},
		Members:      []nodeops.EtcdMember{{Name: "k3s-dev-control-1", Address: "192.168.20.11"}},
		Certificates: []status.Certificate{{Name: "talosconfig", Ends: today.AddDate(0, 0, 364)}, {Name: "kubeconfig", Ends: today.AddDate(0, 0, 364)}},
		State: status.State{Resources: 23, LastUpdate: &status.Update{
			Kind: "update", Result: "succeeded", Ended: time.Date(2026, 11, 20, 22, 15, 0, 0, time.Local),
		}},
	}
}

func TestPrintWhatIsWell(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	require.NoError(t, wellReport().WriteText(&text))
	require.Equal(t, `MACHINE            ROLE           HOST    VM           TALOS    KUBERNETES
k3s-dev-control-1  control-plane  vmhost  101 running  running  Ready
k3s-dev-gpu-1      gpu-worker     vmhost  103 running  running  Ready, 2 GPU

versions      Kubernetes v1.35.4 · Talos v1.12.4
etcd          k3s-dev-control-1
certificates  talosconfig for 364 days, kubeconfig for 364 days
state         23 resources, last update succeeded 2026-11-20 22:15:00
`, text.String())
	require.Empty(t, wellReport().Lacks())
	require.Empty(t, wellReport().Remedies(0))
}

func TestPrintFindings(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Machines[0].Node = &nodeops.Observation{Talos: "v1.12.4", Stage: "booting", Unmet: []string{"services: etcd not healthy"}}
	r.Machines[0].Kubernetes = &status.KubernetesNode{Kubelet: "v1.35.4", Cordoned: true}
	r.Machines[1] = status.Machine{Name: "k3s-dev-gpu-1", Role: inventory.RoleGPUWorker, Host: "vmhost", VMID: 103, VM: "stopped"}
	r.Members = []nodeops.EtcdMember{{Name: "k3s-dev-control-1", Problem: "its etcd member knows no leader"}, {Name: "k3s-dev-control-2", Address: "192.168.20.12", Learner: true}}
	r.Certificates[0].Ends = today.AddDate(0, 0, 12)
	r.State.Pending = []string{"creating k3s-dev-gpu-1-vm"}
	r.State.Locks = []recovery.Lock{{PID: 4711, Hostname: "desk", Stale: true}, {PID: 4712, Hostname: "laptop"}}
	r.Machines[0].Node.Schematic, r.Machines[0].Image = "376567988ad370138ad8b2698212367b", status.Image{
		Schematic: "86a5d7c9beb23b4aea2777e44ca06c8c", Installer: "factory.talos.dev/nocloud-installer/86a5d7c9beb23b4aea2777e44ca06c8c:v1.12.4",
	}
	r.Orphans = []status.Orphan{{What: "disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120", Host: "vmhost", Remove: "pvesm free tank:vm-120-disk-0"}}
	r = r.WithUnread(fmt.Errorf("Kubernetes API at https://192.168.20.10:6443: %w", context.DeadlineExceeded)) //nolint:staticcheck // as it is printed
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Equal(t, `MACHINE            ROLE           HOST    VM           TALOS    KUBERNETES
k3s-dev-control-1  control-plane  vmhost  101 running  booting  NotReady,
                                                                cordoned
k3s-dev-gpu-1      gpu-worker     vmhost  103 stopped  -        -

versions      Kubernetes v1.35.4 · Talos v1.12.4
etcd          k3s-dev-control-1 (its etcd member knows no leader), k3s-dev-control-2 (at 192.168.20.12, no machine of the inventory, learner)
certificates  talosconfig for 12 days, kubeconfig for 364 days
state         23 resources, last update succeeded 2026-11-20 22:15:00
Talos         k3s-dev-control-1: services: etcd not healthy
not in state  k3s-dev-gpu-1: the state does not know VM 103
unfinished    creating k3s-dev-gpu-1-vm: `+"`em-infra up`"+` settles it
lock          of process 4711 on desk, which is dead: `+"`em-infra up` or `em-infra state unlock`"+` removes it
lock          of process 4712 on laptop: a run works on this stack
certificate   of the talosconfig ends in 12 days: `+"`em-infra up`"+` renews it
image         k3s-dev-control-1 runs schematic 376567988ad3, the inventory's is 86a5d7c9beb2: `+"`em-infra up`"+` upgrades it in place, drained, and when the cluster can do without it
orphan        disk tank:vm-120-disk-0 (1.5 GiB): there is no VM 120
              → on vmhost, if it is no longer needed: pvesm free tank:vm-120-disk-0
not read      Kubernetes API at https://192.168.20.10:6443: context deadline exceeded
              → it may be starting: run `+"`em-infra status`"+` again in a minute, and look at its console if it stays away
`, text.String())
	require.Equal(t, []string{
		"k3s-dev-control-1: services: etcd not healthy",
		"k3s-dev-gpu-1: its VM is stopped",
		"k3s-dev-control-1: its etcd member knows no leader",
		"creating k3s-dev-gpu-1-vm: it was begun and never ended",
		"Kubernetes API at https://192.168.20.10:6443: context deadline exceeded",
	}, r.Lacks())
	require.Equal(t, []string{"k3s-dev-control-2: `talosctl --nodes 192.168.20.12 reset --system-labels-to-wipe EPHEMERAL --reboot` has it join etcd anew: " +
		"Talos tries for ten minutes to give a member its vote, and not again"}, r.Remedies(10*time.Minute))
	require.Empty(t, r.Remedies(10*time.Minute-time.Second), "it may get its vote yet")
}

// The data directory of the only control plane is empty: etcd waits for a bootstrap, for ever.
func TestAnEtcdWhoseDataIsLost(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Members = nil
	require.Equal(t, []string{"etcd: it runs on no control plane, and all of them answer: if its data is lost, bring it back from a snapshot with `em-infra etcd restore --stack k3s-dev`"},
		r.At(remedy.Place{Stack: "--stack k3s-dev"}).Remedies(0))
	r.Machines[0].Node = &nodeops.Observation{Unmet: []string{"no answer"}}
	require.Empty(t, r.Remedies(0), "it may have the data")
}

// withDataDisk returns a machine with one data disk and these volumes.
func withDataDisk(m status.Machine, volumes ...nodeops.Volume) status.Machine {
	m.DataDisks = []string{"models"}
	m.Node = &nodeops.Observation{Talos: "v1.12.4", Stage: "running", InstalledOn: "scsi0", Volumes: volumes}
	return m
}

// TestPrintDisks checks the problems of disks, and new space that needs a reboot, which is not a problem of the cluster.
func TestPrintDisks(t *testing.T) {
	t.Parallel()
	r := wellReport()
	r.Machines[1] = withDataDisk(r.Machines[1],
		nodeops.Volume{Name: "EPHEMERAL", Phase: "ready", Drive: "scsi0", UnusedBytes: 64 << 30},
		nodeops.Volume{Name: "models", Phase: "ready", Drive: "scsi1", UnusedBytes: 10 << 30})
	require.Empty(t, r.Lacks())
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "grown disk    scsi0 of k3s-dev-gpu-1: /var has 64 GiB more from the node's next boot on: `em-infra reboot k3s-dev-gpu-1`\n"+
		"grown disk    scsi1 of k3s-dev-gpu-1: /var/mnt/models has 10 GiB more from the node's next boot on: `em-infra reboot k3s-dev-gpu-1`\n")

	r.Machines[1].Node.Volumes[1] = nodeops.Volume{Name: "models", Phase: "failed", Reason: "no disks matched selector for volume"}
	text.Reset()
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "disks         k3s-dev-gpu-1: volume models is failed (no disks matched selector for volume): see in Proxmox VE ")
}

func TestLacks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*status.Report)
		want   []string
	}{
		{"a Node that is not Ready", func(r *status.Report) { r.Machines[0].Kubernetes = &status.KubernetesNode{} }, []string{"k3s-dev-control-1: its Node is not Ready"}},
		{"a cluster without a network", func(r *status.Report) {
			r.Networked = false
			r.Machines[0].Node = &nodeops.Observation{Stage: "running", Unmet: []string{"nodeReady: node is not ready"}}
			r.Machines[0].Kubernetes = &status.KubernetesNode{}
		}, nil},
		{"no Node", func(r *status.Report) { r.Machines[0].Kubernetes = nil }, []string{"k3s-dev-control-1: Kubernetes has no Node of its name"}},
		{"no talosconfig", func(r *status.Report) { r.Machines[0].Node = nil }, []string{"k3s-dev-control-1: its Talos was not asked, for want of a talosconfig"}},
		{"a machine that the state lost", func(r *status.Report) { r.Machines[0].Known = false }, []string{"k3s-dev-control-1: the state does not know its VM"}},
		{"GPUs that are offered", func(r *status.Report) { r.Machines[1].GPUs = 2 }, nil},
		{"a GPU that is not offered", func(r *status.Report) { r.Machines[1].GPUs = 3 }, []string{"k3s-dev-gpu-1: its Node offers 2 of 3 nvidia.com/gpu"}},
		{"disks as they should be", func(r *status.Report) {
			r.Machines[1] = withDataDisk(r.Machines[1], nodeops.Volume{Name: "models", Phase: "ready", Drive: "scsi1"})
		}, nil},
		{"Talos on a data disk", func(r *status.Report) {
			r.Machines[0].Node = &nodeops.Observation{Talos: "v1.12.4", Stage: "running", InstalledOn: "scsi1"}
		}, []string{"k3s-dev-control-1: Talos is installed on scsi1, and the firmware boots scsi0: make the machine anew before it is switched off, since its ISO would start and halt"}},
		{"a volume that no disk matches", func(r *status.Report) {
			r.Machines[1] = withDataDisk(r.Machines[1], nodeops.Volume{Name: "models", Phase: "failed", Reason: "no disks matched selector for volume"})
		}, []string{"k3s-dev-gpu-1: volume models is failed (no disks matched selector for volume): see in Proxmox VE that the machine has scsi1 and that nothing else is on it, and in `talosctl get disks` what Talos finds"}},
		{"a volume that waits", func(r *status.Report) {
			r.Machines[1] = withDataDisk(r.Machines[1], nodeops.Volume{Name: "models", Phase: "ready", Drive: "scsi1"}, nodeops.Volume{Name: "EPHEMERAL", Phase: "waiting"})
		}, []string{"k3s-dev-gpu-1: volume EPHEMERAL is waiting: look at `talosctl get volumestatuses`"}},
		{"a volume that nobody asked for", func(r *status.Report) { r.Machines[1] = withDataDisk(r.Machines[1]) }, []string{"k3s-dev-gpu-1: Talos knows no volume models: run up, which applies the configuration that asks for it"}},
		{"a volume on another disk", func(r *status.Report) {
			r.Machines[1] = withDataDisk(r.Machines[1], nodeops.Volume{Name: "models", Phase: "ready", Drive: "scsi2"})
		}, []string{"k3s-dev-gpu-1: volume models lies on scsi2, its data disk is scsi1: put dataDisks in the order in which they were made"}},
		{"a gateway that has no effect", func(r *status.Report) {
			r.Machines[0].Gateways = []netip.Addr{netip.MustParseAddr("192.168.20.254"), netip.MustParseAddr("fe80::1")}
			r.Machines[0].Node.Gateways = []netip.Addr{netip.MustParseAddr("192.168.20.1")}
		}, []string{"k3s-dev-control-1: its default route leads to 192.168.20.1, the inventory says 192.168.20.254"}},
		{"the gateway of the inventory", func(r *status.Report) {
			r.Machines[0].Gateways = []netip.Addr{netip.MustParseAddr("192.168.20.1")}
			r.Machines[0].Node.Gateways = r.Machines[0].Gateways
		}, nil},
		{"a node that reboots", func(r *status.Report) { r.Machines[0].Node = &nodeops.Observation{Stage: "rebooting"} }, []string{"k3s-dev-control-1: it is in stage rebooting"}},
		{"a control plane without a member", func(r *status.Report) {
			r.Members = []nodeops.EtcdMember{{Name: "k3s-dev-control-2", Address: "192.168.20.12"}}
		}, []string{"k3s-dev-control-1: it has not joined etcd"}},
		{"a member that has not started", func(r *status.Report) {
			r.Members = []nodeops.EtcdMember{{Address: r.Machines[0].Address.String(), Problem: "its etcd does not answer"}}
		}, []string{"192.168.20.11: its etcd does not answer"}},
		{"a host that was not asked", func(r *status.Report) { r.Machines[0].VM = "" }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := wellReport()
			test.change(&r)
			require.Equal(t, test.want, r.Lacks())
		})
	}
}
