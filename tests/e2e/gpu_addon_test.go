package e2e_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestE2EGPUsAreOffered: the device plugin runs on gpu-workers only, and up ends when each of them offers its GPUs. One GPU is
// a Pascal, which the open driver does not support: the node would offer one GPU forever.
func TestE2EGPUsAreOffered(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, "e2e-gpu")
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "device-plugin"), os.DirFS(filepath.Join(r.root, "tests", "charts", "device-plugin-like"))))
	r.addNode("{name: k3s-dev-gpu-1, role: gpu-worker, vmid: 110, address: 192.168.20.31, gpus: [{mapping: rtx3090}, {mapping: gtx1080ti}]}")
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  gpu: {devicePlugin: {chart: {path: device-plugin}}}\n")

	refused := r.mustRun(3, "up", "--lab", "--yes")
	require.Contains(t, refused, "the driver of k3s-dev-gpu-1 (open, lts, which is R580 in Talos v1.12.4) does not drive PCI ")
	require.Contains(t, refused, "GP102 [GeForce GTX 1080 Ti] (10de:1b06): Pascal needs proprietary kernel modules")
	require.Contains(t, refused, "write driver: {kernelModuleType: proprietary, branch: lts}")
	r.edit("nodes.yaml", "gpus: [{mapping: rtx3090}", "driver: {kernelModuleType: proprietary, branch: lts}, gpus: [{mapping: rtx3090}")

	r.mustRun(0, "up", "--lab", "--yes")
	machine, err := r.host().VirtualMachine(t.Context(), 110)
	require.NoError(t, err)
	require.Equal(t, "cputype=host", machine.VirtualMachineConfig.CPU)
	require.True(t, r.stateHas("k3s-dev-addons-gpu-k3s-dev-gpu-1"))
	pods, err := r.kubernetes().CoreV1().Pods("kube-system").List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=nvidia-device-plugin"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	require.Equal(t, "k3s-dev-gpu-1", pods.Items[0].Spec.NodeName)
	require.Equal(t, "nvidia", *pods.Items[0].Spec.RuntimeClassName)
	r.mustRun(0, "preview", "--lab")

	machines := r.status(0).Machines
	require.Equal(t, "k3s-dev-gpu-1", machines[len(machines)-1].Name)
	require.Equal(t, int64(2), machines[len(machines)-1].GPUs, "what is asked for")
	require.Equal(t, int64(2), machines[len(machines)-1].Kubernetes.GPUs, "what is offered")
}

// TestE2EGPUsAreOfferedByTheOperator: on Talos v1.13 the device plugin comes with gpu-operator.
func TestE2EGPUsAreOfferedByTheOperator(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newRehearsal(t, "e2e-gpu-operator")
	require.NoError(t, os.CopyFS(filepath.Join(r.inventory, "gpu-operator"), os.DirFS(filepath.Join(r.root, "tests", "charts", "gpu-operator-like"))))
	r.addNode("{name: k3s-dev-gpu-1, role: gpu-worker, vmid: 110, address: 192.168.20.31, gpus: [{mapping: rtx3090}]}")
	r.edit("cluster.yaml", "version: v1.12.4", "version: v1.13.9")
	r.writeInventory("cluster.yaml", r.inventoryText("cluster.yaml")+"addons:\n  gpu: {operator: {chart: {path: gpu-operator}}}\n")

	r.mustRun(0, "up", "--lab", "--yes")
	pods, err := r.kubernetes().CoreV1().Pods("gpu-operator").List(t.Context(), metav1.ListOptions{LabelSelector: "app=nvidia-device-plugin-daemonset"})
	require.NoError(t, err)
	require.Len(t, pods.Items, 1)
	require.Equal(t, "k3s-dev-gpu-1", pods.Items[0].Spec.NodeName)
	require.True(t, r.stateHas("k3s-dev-addons-gpu-k3s-dev-gpu-1"), "its GPUs are offered")
	r.mustRun(0, "preview", "--lab")
}
