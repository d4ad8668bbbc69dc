package proxmox_test

import (
	"strings"
	"testing"
	"time"

	client "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"
)

// otherClient returns an independent client of a lab.
func otherClient(l *lab) *client.Client {
	id, secret, _ := strings.Cut(l.token, "=")

	return client.NewClient(l.base+"/api2/json", client.WithHTTPClient(l.http), client.WithAPIToken(id, secret))
}

// TestOtherPeoplesClient uses an independent client.
func TestOtherPeoplesClient(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	ctx := t.Context()
	c := otherClient(l)

	// do waits for a task and expects it to succeed.
	do := func(task *client.Task, err error) {
		t.Helper()
		require.NoError(t, err)
		require.NoError(t, task.Wait(ctx, time.Millisecond, eventually))
		require.True(t, task.IsSuccessful, task.ExitStatus)
	}

	version, err := c.Version(ctx)
	require.NoError(t, err)
	require.Equal(t, "8.4", version.Release)

	cluster, err := c.Cluster(ctx)
	require.NoError(t, err)
	require.Len(t, cluster.Nodes, 2)

	node, err := c.Node(ctx, "vmhost")
	require.NoError(t, err)
	require.Equal(t, "pve-manager/8.4.1/2a5fa54a8503f96d", node.PVEVersion)
	require.Equal(t, 16, node.CPUInfo.CPUs)

	isoStorage, err := node.Storage(ctx, "local")
	require.NoError(t, err)
	do(isoStorage.DownloadURL(ctx, "iso", "talos.iso", images(t)+"/nocloud-amd64.iso"))

	content, err := isoStorage.GetContent(ctx)
	require.NoError(t, err)
	require.Equal(t, "local:iso/talos.iso", content[0].Volid)

	do(node.NewVirtualMachine(ctx, 9000,
		client.VirtualMachineOption{Name: "name", Value: "template"},
		client.VirtualMachineOption{Name: "machine", Value: "q35"},
		client.VirtualMachineOption{Name: "scsi0", Value: "tank:8"},
		client.VirtualMachineOption{Name: "net0", Value: "virtio,bridge=vmbr0"},
		client.VirtualMachineOption{Name: "ide3", Value: "local:iso/talos.iso,media=cdrom"},
	))

	template, err := node.VirtualMachine(ctx, 9000)
	require.NoError(t, err)
	do(template.ConvertToTemplate(ctx))

	vmid, task, err := template.Clone(ctx, &client.VirtualMachineCloneOptions{Full: true, Name: "cp-1"})
	do(task, err)
	require.Equal(t, 100, vmid)

	vm, err := node.VirtualMachine(ctx, vmid)
	require.NoError(t, err)
	require.True(t, vm.IsStopped())
	do(vm.Config(ctx, client.VirtualMachineOption{Name: "memory", Value: 4096}, client.VirtualMachineOption{Name: "onboot", Value: true}))
	do(vm.ResizeDisk(ctx, "scsi0", "32G"))
	do(vm.AddTag(ctx, "k3s"))
	do(vm.Start(ctx))

	require.NoError(t, vm.Ping(ctx))
	require.True(t, vm.IsRunning())
	require.Equal(t, uint64(4096<<20), vm.MaxMem)
	require.Equal(t, uint64(32<<30), vm.MaxDisk)
	require.Equal(t, "k3s", vm.Tags)

	resources, err := cluster.Resources(ctx, "vm")
	require.NoError(t, err)
	require.Len(t, resources, 2)

	do(vm.Shutdown(ctx))
	do(vm.Delete(ctx))

	_, err = node.VirtualMachine(ctx, vmid)
	require.ErrorContains(t, err, "Configuration file 'nodes/vmhost/qemu-server/100.conf' does not exist")
}
