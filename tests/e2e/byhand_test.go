package e2e_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/luthermonson/go-proxmox"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/inventory/secrets/sopstest"
	"github.com/em-infra/em-infra/internal/poll/polltest"
	"github.com/em-infra/em-infra/stacks"
)

// TestE2EF36WhatWasChangedByHandIsPutBack is the life of a cluster with manual changes: on the host, on a node, and a power cut
// of its only control plane. A plain preview shows the changes on the host, em-infra the others; the next up reverts them, and
// a further one changes nothing. At the end a machine is lost, and a plain destroy works without it.
func TestE2EF36WhatWasChangedByHandIsPutBack(t *testing.T) {
	t.Parallel()
	extended(t)
	h := &byHand{rehearsal: newRehearsal(t, "e2e-by-hand")}
	opener := sopstest.NewKey(t)
	h.writeInventory("opener.txt", opener.String()+"\n")
	h.writeInventory(secrets.File, sopstest.Encrypt(t, "truenas: {apiKey: made-up API key}\n", opener))
	h.env = append(h.env, secrets.KeyFileVariable+"="+filepath.Join(h.inventory, "opener.txt"))
	h.edit("cluster.yaml", "  tags: [talos]", "  tags: [talos]\n  pool: k3s-dev")
	h.writeInventory("cluster.yaml", h.inventoryText("cluster.yaml")+"addons:\n  truenas: {host: nas.example, namespace: storage}\n")
	h.mustRun(0, "up", "--lab", "--yes")
	h.mustRun(0, "preview", "--lab")

	h.onHostAndNode()
	h.offAndOther()
	h.deadAPI()
	h.onlyGrows()
	h.lostMachine()
}

// byHand is a rehearsal with manual changes.
type byHand struct{ *rehearsal }

// onHostAndNode changes everything at once, on the host and in the machine configuration of a node.
func (h *byHand) onHostAndNode() {
	h.patchByHand("k3s-dev-control-1", "machine: {sysctls: {vm.max_map_count: \"262144\"}}")
	h.set(102, "memory", 4096, "cores", 2, "tags", "by-hand", "description", "mine", "name", "mine", "startup", "order=9",
		"onboot", 0, "boot", "order=ide0;scsi0", "net1", "virtio=BC:24:11:00:00:99,bridge=vmbr0")
	h.power(false, 102)
	h.move("others", "101,102,9000")
	pool, err := h.api().Pool(h.t.Context(), "k3s-dev")
	require.NoError(h.t, err)
	require.NoError(h.t, pool.Delete(h.t.Context()))
	h.set(9000, "description", "mine", "cores", 4)
	for _, iso := range h.hostFiles().ISOs {
		require.NoError(h.t, h.api().Delete(h.t.Context(), "/nodes/vmhost/storage/local/content/"+iso, nil))
	}

	h.mustRun(0, "preview", "--lab", "--refresh=false") // the state alone knows nothing of it
	stack := h.plain()
	plain, err := stack.Preview(h.t.Context(), optpreview.Diff(), optpreview.ProgressStreams(io.Discard))
	require.NoError(h.t, err)
	columns := strings.Join(strings.Fields(plain.StdOut), " ") // their width depends on what differs besides
	for _, seen := range []string{
		"dedicated: 4096 => 8192", "cores: 2 => 4", `"mine" => "k3s-dev-worker-1"`, `"by-hand" => "talos"`, "order : 9 => 2",
		"started : false => true", "BC:24:11:00:00:99",
	} {
		require.Contains(h.t, columns, seen, "a plain preview sees what its providers read")
	}
	output := h.mustRun(2, "preview", "--lab")
	for _, seen := range []string{
		"memory 4096 → 8192 MiB", "cores 2 → 4", "name mine → k3s-dev-worker-1", "switched on false → true",
		"start at boot false → true", "boot order", "pool others → k3s-dev",
		"its machine configuration was changed by hand (machine.sysctls.vm.max_map_count) and is put back",
	} {
		require.Contains(h.t, output, seen)
	}
	require.Contains(h.t, output, "it is off: it starts, and reboots once more when it has booted, about 2 min")
	output = h.mustRun(0, "up", "--lab", "--yes")
	require.Contains(h.t, output, "k3s-dev-worker-1 missed the signal of its power button while it booted: Talos is asked to reboot")
	h.mustRun(0, "preview", "--lab")
	require.Contains(h.t, h.mustRun(0, "drift", "--lab"), "no drift: the host and the nodes are as the inventory says\n")
}

// offAndOther runs a plain engine on machines that are all off and have other hardware, including the control plane that the
// worker needs.
func (h *byHand) offAndOther() {
	h.set(101, "memory", 4096)
	h.set(102, "memory", 4096)
	h.power(false, 101, 102)
	stack := h.plain()
	_, err := stack.Up(h.t.Context(), optup.ProgressStreams(io.Discard))
	require.NoError(h.t, err)
	h.mustRun(0, "preview", "--lab")
}

// deadAPI cuts the power of the only control plane: a dead API does not stop the run that switches it on.
func (h *byHand) deadAPI() {
	key := h.uid()
	h.power(false, 101)
	stack := h.plain()
	plain, err := stack.Preview(h.t.Context(), optpreview.ProgressStreams(io.Discard))
	require.NoError(h.t, err)
	require.Zero(h.t, plain.ChangeSummary[apitype.OpDelete]+plain.ChangeSummary[apitype.OpCreate], "nothing in the cluster is forgotten")
	output := h.mustRun(2, "preview", "--lab")
	require.Contains(h.t, output, "switched on false → true")
	require.Contains(h.t, output, "not asked: what is in the cluster: ")
	require.Contains(h.t, h.mustRun(1, "drift", "--lab"), "not read: what is in the cluster: ")
	h.mustRun(0, "up", "--lab", "--yes")
	require.Equal(h.t, key, h.uid())
	h.mustRun(0, "preview", "--lab")
	h.power(false, 101)
	require.Contains(h.t, h.mustRun(0, "up", "--lab", "--yes", "--only", "provision"), "switched on false → true")
}

// onlyGrows grows a disk by hand, which cannot be reverted, so the inventory has to follow.
func (h *byHand) onlyGrows() {
	machine, err := h.host().VirtualMachine(h.t.Context(), 102)
	require.NoError(h.t, err)
	task, err := machine.ResizeDisk(h.t.Context(), "scsi0", "+8G")
	require.NoError(h.t, err)
	require.NoError(h.t, task.Wait(h.t.Context(), 100*time.Millisecond, time.Minute))
	output := h.mustRun(3, "preview", "--lab")
	require.Contains(h.t, output, " CANNOT   k3s-dev-worker-1  disk 136 → 128 GiB cannot shrink: Proxmox VE only grows disks\n")
	require.Contains(h.t, output, "refused: set diskGiB back to 136 for k3s-dev-worker-1")
	h.edit("nodes.yaml", "vmid: 102", "vmid: 102\n    diskGiB: 136")
	h.mustRun(0, "preview", "--lab")
}

// lostMachine deletes a machine and cuts the power of the other: a plain destroy needs neither.
func (h *byHand) lostMachine() {
	h.power(false, 101, 102)
	machine, err := h.host().VirtualMachine(h.t.Context(), 102)
	require.NoError(h.t, err)
	task, err := machine.Delete(h.t.Context())
	require.NoError(h.t, err)
	require.NoError(h.t, task.Wait(h.t.Context(), 100*time.Millisecond, time.Minute))
	stack := h.plain()
	_, err = stack.Destroy(h.t.Context(), optdestroy.ProgressStreams(io.Discard))
	require.NoError(h.t, err)
	require.Empty(h.t, h.hostFiles().VMs)
}

// plain returns the stack under the engine alone.
func (h *byHand) plain() auto.Stack {
	h.t.Helper()
	return h.plainEngineWith(stacks.Options{Secrets: func(context.Context, string) (map[string]string, error) {
		return map[string]string{"truenas.apiKey": "made-up API key"}, nil
	}})
}

// uid returns the UID of an object, which differs if it was created again. The API may still be starting: a plain up does not wait
// for it.
func (h *byHand) uid() (uid types.UID) {
	h.t.Helper()
	polltest.Succeeds(h.t, func() error {
		secret, err := h.kubernetes().CoreV1().Secrets("storage").Get(h.t.Context(), "truenas-api", metav1.GetOptions{})
		if err == nil {
			uid = secret.UID
		}
		return err
	})
	return uid
}

// set changes a machine as in the web interface; pairs are names and values.
func (r *rehearsal) set(vmid int, pairs ...any) {
	r.t.Helper()
	machine, err := r.host().VirtualMachine(r.t.Context(), vmid)
	require.NoError(r.t, err)
	var options []proxmox.VirtualMachineOption
	for i := 0; i < len(pairs); i += 2 {
		options = append(options, proxmox.VirtualMachineOption{Name: pairs[i].(string), Value: pairs[i+1]})
	}
	task, err := machine.Config(r.t.Context(), options...)
	require.NoError(r.t, err)
	require.NoError(r.t, task.Wait(r.t.Context(), 100*time.Millisecond, time.Minute))
}

// move puts a machine into another pool, which is made for it.
func (h *byHand) move(pool string, vmid string) {
	h.t.Helper()
	require.NoError(h.t, h.api().NewPool(h.t.Context(), pool, ""))
	made, err := h.api().Pool(h.t.Context(), pool)
	require.NoError(h.t, err)
	require.NoError(h.t, made.Update(h.t.Context(), &proxmox.PoolUpdateOption{VirtualMachines: vmid, AllowMove: true}))
}
