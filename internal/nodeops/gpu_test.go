package nodeops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// TestWhatIsWrongWithGPUs checks that each problem with a node's GPUs has one sentence, and that a problem that only follows from another one has
// none.
func TestWhatIsWrongWithGPUs(t *testing.T) {
	t.Parallel()
	pair := []string{"nvidia-container-toolkit-lts", "nvidia-open-gpu-kernel-modules-lts"}
	modules := []string{"nvidia", "nvidia_uvm"}
	ampere, pascal := []string{"10de:2204"}, []string{"10de:1b38"}
	const noDevice = "the machine sees 0 of 1 NVIDIA devices: see that the VM has its hostpci entries and that the host does not use the cards (docs/operations.md), then stop and start the VM"
	for name, test := range map[string]struct {
		view nodeops.GPUView
		want string
	}{
		"nothing": {view: nodeops.GPUView{Devices: ampere, Extensions: pair, Modules: modules, Plugin: "Running", Offered: 4}},
		"no device": {
			view: nodeops.GPUView{Extensions: pair},
			want: noDevice,
		},
		"no device and half a driver": {
			view: nodeops.GPUView{Extensions: []string{"nvidia-container-toolkit-lts", "qemu-guest-agent"}},
			want: noDevice + "\nits Talos runs without NVIDIA's driver and container toolkit, which come as a pair of extensions (it has: nvidia-container-toolkit-lts, qemu-guest-agent): run `em-infra up`, which upgrades it to the image of a gpu-worker; a patch with machine.install.image has to name one with them",
		},
		"no extension": {
			view: nodeops.GPUView{Devices: ampere},
			want: "its Talos runs without NVIDIA's driver and container toolkit, which come as a pair of extensions (it has: none): run `em-infra up`, which upgrades it to the image of a gpu-worker; a patch with machine.install.image has to name one with them",
		},
		"no module": {
			view: nodeops.GPUView{Devices: ampere, Extensions: pair},
			want: "the kernel has not loaded the module nvidia: see `talosctl dmesg` for why the driver refuses the card, which is most often too old or too new for it",
		},
		"a toolkit of another branch": {
			view: nodeops.GPUView{Devices: ampere, Extensions: []string{"nvidia-container-toolkit-production", "nvidia-open-gpu-kernel-modules-lts"}, Modules: modules},
			want: "its Talos runs without NVIDIA's driver and container toolkit, which come as a pair of extensions (it has: nvidia-container-toolkit-production, nvidia-open-gpu-kernel-modules-lts): run `em-infra up`, which upgrades it to the image of a gpu-worker; a patch with machine.install.image has to name one with them",
		},
		"a driver that does not drive the card": {
			view: nodeops.GPUView{Devices: pascal, Extensions: pair},
			want: "its driver (open, lts, which is R580 in Talos v1.12.4) does not drive 10de:1b38 (Pascal needs proprietary kernel modules, the open ones begin with Turing): write driver: {kernelModuleType: proprietary, branch: lts} for it in nodes.yaml, then run `em-infra up`, which upgrades it to that image",
		},
		"a card that no driver drives": {
			view: nodeops.GPUView{Devices: []string{"10de:102d"}, Extensions: pair},
			want: "its driver (open, lts, which is R580 in Talos v1.12.4) does not drive 10de:102d (no driver that Talos has drives Kepler): take another GPU, of Maxwell or later",
		},
		"no plugin": {
			view: nodeops.GPUView{Devices: ampere, Extensions: pair, Modules: modules},
			want: "no pod of the device plugin runs on it: see that the node has the label nvidia.com/gpu.present and no taint that the plugin does not tolerate",
		},
		"plugin that does not start": {
			view: nodeops.GPUView{Devices: ampere, Extensions: pair, Modules: modules, Plugin: "Pending"},
			want: "the pod of the device plugin is Pending: see `kubectl describe pod --namespace kube-system --selector app.kubernetes.io/name=nvidia-device-plugin`",
		},
		"too few": {
			view: nodeops.GPUView{Devices: ampere, Extensions: pair, Modules: modules, Plugin: "Running", Offered: 1},
			want: "the device plugin offers 1 of 4 nvidia.com/gpu: see its log with `kubectl logs --namespace kube-system --selector app.kubernetes.io/name=nvidia-device-plugin`",
		},
		"the operator's device plugin does not start": {
			view: nodeops.GPUView{Talos: "v1.13.9", Devices: ampere, Extensions: pair, Modules: modules, Plugin: "Pending"},
			want: "the pod of the device plugin is Pending: see `kubectl describe pod --namespace gpu-operator --selector app=nvidia-device-plugin-daemonset`",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.view.Judge(nodeops.GPUNode{Name: "gpu-1", Devices: 1, Offered: 4})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
		})
	}
}
