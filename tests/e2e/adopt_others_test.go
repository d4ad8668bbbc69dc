package e2e_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthermonson/go-proxmox"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestE2EAnothersClusterIsAdopted: machines made by calls to Proxmox VE, with Talos configured by its own generator, are described as
// an inventory and adopted. They do not notice.
func TestE2EAnothersClusterIsAdopted(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-adopt-others")
	r.mustRun(0, "lab", "start")
	others := r.makesAnothersCluster()
	boots, seen := others.boots(), len(r.calls())
	r.inventory = filepath.Join(t.TempDir(), "found")

	output := r.mustRun(0, "adopt", "--lab", "--write-inventory", "--talosconfig", others.talosconfig, "--terraform-state", others.writeTerraform())
	require.Contains(t, output, "2 nodes: old-control-1, old-worker-1\n")
	require.Contains(t, output, `terraform state rm 'proxmox_virtual_environment_vm.node["old-control-1"]' 'proxmox_virtual_environment_vm.node["old-worker-1"]'`)
	require.Contains(t, r.inventoryText("cluster.yaml"), "contract: v1.12\n")
	require.Contains(t, r.inventoryText("nodes.yaml"), "vmid: 301\n")
	require.Contains(t, r.mustRun(3, "adopt", "--lab", "--write-inventory", "--talosconfig", others.talosconfig), "cluster.yaml exists, and is not overwritten: ")

	require.Contains(t, output, "run `qm set 302 --citype nocloud` on vmhost first")

	refusal := r.mustRun(3, "adopt", "--lab", "--talosconfig", others.talosconfig)
	require.Contains(t, refusal, "with the inventory as it is, an up would destroy what runs:\nREPLACE old-control-1: ")
	require.NoFileExists(t, r.stateFile())
	require.Empty(t, writes(r.calls()[seen:]), "the host was only read")
	others.namesTheFormat()

	seen = len(r.calls())
	output = r.mustRun(0, "adopt", "--lab", "--talosconfig", others.talosconfig)
	require.Contains(t, output, "the state is written, with ")
	require.Empty(t, writes(r.calls()[seen:]), "the host was only read")
	require.Equal(t, boots, others.boots())
	output = r.mustRun(2, "preview", "--lab")
	require.NotContains(t, output, "REPLACE")
	require.NotContains(t, output, "DELETE")
	require.Regexp(t, "REBOOT +old-control-1 ", output, "what differs is shown, with its price")

	r.mustRun(0, "up", "--lab", "--yes")
	r.nodesAreReady("old-control-1", "old-worker-1")
	r.mustRun(0, "preview", "--lab")
}

// another is a cluster of machines that em-infra has not made.
type another struct {
	r           *rehearsal
	addresses   map[string]string // by name
	talosconfig string            // its file
}

const emptySchematic = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"

// makesAnothersCluster makes a control plane and a worker by calls to Proxmox VE and Talos.
func (r *rehearsal) makesAnothersCluster() another {
	r.t.Helper()
	description, err := lab.ReadDescription(r.labDir())
	require.NoError(r.t, err)
	network := description.Network.Addr().As4()
	address := func(last int) string { return fmt.Sprintf("%d.%d.%d.%d", network[0], network[1], network[2], last) }
	made := another{r: r, addresses: map[string]string{"old-control-1": address(31), "old-worker-1": address(41)}, talosconfig: filepath.Join(r.t.TempDir(), "talosconfig")}

	posted, err := http.Post(description.FactoryURL()+"/schematics", "application/yaml", strings.NewReader("customization: {}\n"))
	require.NoError(r.t, err)
	require.NoError(r.t, posted.Body.Close())
	storage, err := r.host().Storage(r.t.Context(), "local")
	require.NoError(r.t, err)
	task, err := storage.DownloadURL(r.t.Context(), "iso", "old-talos.iso", description.FactoryURL()+"/image/"+emptySchematic+"/v1.12.4/nocloud-amd64.iso")
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
	for vmid, name := range map[int]string{301: "old-control-1", 302: "old-worker-1"} {
		r.makesMachine(vmid, name, made.addresses[name], address(1))
	}

	bundle, err := secrets.NewBundle(secrets.NewClock(), config.TalosVersion1_12)
	require.NoError(r.t, err)
	input, err := generate.NewInput("old", "https://"+made.addresses["old-control-1"]+":6443", "1.35.4",
		generate.WithSecretsBundle(bundle), generate.WithVersionContract(config.TalosVersion1_12), generate.WithInstallDisk("/dev/sda"),
		generate.WithInstallImage(description.Factory.String()+"/nocloud-installer/"+emptySchematic+":v1.12.4"),
		generate.WithEndpointList([]string{made.addresses["old-control-1"]}))
	require.NoError(r.t, err)
	talosconfig, err := input.Talosconfig()
	require.NoError(r.t, err)
	require.NoError(r.t, talosconfig.Save(made.talosconfig))
	made.configures(input, "old-control-1", machine.TypeControlPlane)
	made.bootstraps("old-control-1")
	made.configures(input, "old-worker-1", machine.TypeWorker)
	r.eventually("both nodes know each other", func() bool {
		peers, err := nodeops.Health{Talosconfig: []byte(r.read(made.talosconfig))}.Peers(r.t.Context(), made.addresses["old-control-1"])
		return err == nil && len(peers) == 2
	})
	return made
}

// makesMachine makes and starts a machine as other tools make them.
func (r *rehearsal) makesMachine(vmid int, name, address, gateway string) {
	r.t.Helper()
	setting := func(name, value string) proxmox.VirtualMachineOption {
		return proxmox.VirtualMachineOption{Name: name, Value: value}
	}
	task, err := r.host().NewVirtualMachine(r.t.Context(), vmid,
		setting("name", name), setting("cores", "2"), setting("memory", "4096"), setting("cpu", "x86-64-v2-AES"), setting("ostype", "l26"),
		setting("machine", "q35"), setting("bios", "ovmf"), setting("efidisk0", "tank:1,efitype=4m"), setting("scsihw", "virtio-scsi-single"),
		setting("scsi0", "tank:32,discard=on,iothread=1,ssd=1"), setting("ide0", "local:iso/old-talos.iso,media=cdrom"), setting("ide2", "tank:cloudinit"),
		setting("net0", "virtio,bridge=vmbr0,tag=20"), setting("ipconfig0", "ip="+address+"/24,gw="+gateway), setting("nameserver", gateway),
		setting("boot", "order=scsi0;ide0"), setting("onboot", "1"), setting("tags", "talos"), setting("serial0", "socket"))
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
	started, err := r.host().VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	task, err = started.Start(r.t.Context())
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
}

// configures applies the first configuration of a node, and waits until it is installed.
func (a another) configures(input *generate.Input, name string, kind machine.Type) {
	a.r.t.Helper()
	ctx, address := a.r.t.Context(), a.addresses[name]
	made, err := input.Config(kind)
	require.NoError(a.r.t, err)
	text, err := made.Bytes()
	require.NoError(a.r.t, err)
	a.r.eventually(name+" waits for its configuration", func() bool { return nodeops.InMaintenance(ctx, address) })
	api, err := client.New(ctx, client.WithTLSConfig(&tls.Config{InsecureSkipVerify: true}), client.WithEndpoints(address)) //nolint:gosec // a node in maintenance mode
	require.NoError(a.r.t, err)
	defer api.Close()
	_, err = api.ApplyConfiguration(ctx, &machineapi.ApplyConfigurationRequest{Data: text})
	require.NoError(a.r.t, err)
	if kind.IsControlPlane() {
		a.r.eventually(name+" is installed", func() bool { return nodeops.IsAlive(ctx, []byte(a.r.read(a.talosconfig)), address) })
	}
}

// namesTheFormat does what the notes say, in the place of qm.
func (a another) namesTheFormat() {
	a.r.t.Helper()
	for _, vmid := range []int{301, 302} {
		machine, err := a.r.host().VirtualMachine(a.r.t.Context(), vmid)
		require.NoError(a.r.t, err)
		task, err := machine.Config(a.r.t.Context(), proxmox.VirtualMachineOption{Name: "citype", Value: "nocloud"})
		require.NoError(a.r.t, err)
		require.NoError(a.r.t, task.Wait(a.r.t.Context(), 100*time.Millisecond, time.Minute))
	}
}

func (a another) bootstraps(name string) {
	a.r.t.Helper()
	a.r.eventually("etcd is bootstrapped", func() bool {
		return nodeops.Ask(a.r.t.Context(), []byte(a.r.read(a.talosconfig)), a.addresses[name], func(ctx context.Context, api *client.Client) error {
			return api.Bootstrap(ctx, &machineapi.BootstrapRequest{})
		}) == nil
	})
}

// boots returns the boot IDs of the nodes by their names.
func (a another) boots() map[string]string {
	a.r.t.Helper()
	boots := map[string]string{}
	for name, address := range a.addresses {
		require.NoError(a.r.t, nodeops.Ask(a.r.t.Context(), []byte(a.r.read(a.talosconfig)), address, func(ctx context.Context, api *client.Client) (err error) {
			boots[name], err = nodeops.BootID(ctx, api)
			return err
		}))
	}
	return boots
}

// writeTerraform writes the state that Terraform would have of these machines.
func (a another) writeTerraform() string {
	a.r.t.Helper()
	file := filepath.Join(a.r.t.TempDir(), "terraform.tfstate")
	require.NoError(a.r.t, os.WriteFile(file, []byte(`{"version": 4, "resources": [
  {"mode": "managed", "type": "talos_machine_secrets", "name": "this", "instances": [{"attributes": {"talos_version": "v1.12"}}]},
  {"mode": "managed", "type": "proxmox_virtual_environment_vm", "name": "node", "instances": [
    {"index_key": "old-control-1", "attributes": {"id": "301", "vm_id": 301}}, {"index_key": "old-worker-1", "attributes": {"id": "302", "vm_id": 302}}]}
]}`), 0o600))
	return file
}
