package talos_test

import (
	"testing"

	"github.com/cosi-project/runtime/pkg/safe"
	machinetype "github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// The cards of the tests: one for each combination of driver and generation.
var (
	gtx1080Ti = talos.PCIDevice{Address: "0000:01:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x1b06"}
	rtx3090   = talos.PCIDevice{Address: "0000:02:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2204"}
	rtx5090   = talos.PCIDevice{Address: "0000:03:00.0", Class: "0x030000", Vendor: "0x10de", Device: "0x2b85"}
)

// withDriver returns an installer whose images have NVIDIA's driver of the given kind and branch.
func withDriver(version, modules, branch string) func(*talos.Config) {
	return func(c *talos.Config) {
		c.Installer = func(string) (talos.Release, error) {
			return talos.Release{Version: version, Extensions: []talos.Extension{
				{Name: "siderolabs/" + modules + "-" + branch, Version: version},
				{Name: "siderolabs/nvidia-container-toolkit-" + branch, Version: version},
			}}, nil
		}
	}
}

func loadingNVIDIA(c *v1alpha1.Config) {
	c.MachineConfig.MachineKernel = &v1alpha1.KernelConfig{}
	for _, name := range []string{"nvidia", "nvidia_uvm"} {
		c.MachineConfig.MachineKernel.KernelModules = append(c.MachineConfig.MachineKernel.KernelModules, &v1alpha1.KernelModuleConfig{ModuleName: name})
	}
}

// TestTheDriverLoadsForWhatItDrives: the module nvidia, and those that depend on it, fail to load if it supports none of the
// GPUs.
func TestTheDriverLoadsForWhatItDrives(t *testing.T) {
	t.Parallel()

	const open, proprietary = "nvidia-open-gpu-kernel-modules", "nonfree-kmod-nvidia"
	both := []string{"nvidia", "nvidia_uvm"}

	for name, test := range map[string]struct {
		version, modules, branch string
		devices                  []talos.PCIDevice
		loaded                   []string
	}{
		"no card":                             {"v1.12.4", open, "lts", nil, nil},
		"Ampere, open":                        {"v1.12.4", open, "lts", []talos.PCIDevice{rtx3090}, both},
		"Ampere, proprietary":                 {"v1.12.4", proprietary, "lts", []talos.PCIDevice{rtx3090}, both},
		"Pascal, open":                        {"v1.12.4", open, "lts", []talos.PCIDevice{gtx1080Ti}, nil},
		"Pascal, proprietary":                 {"v1.12.4", proprietary, "lts", []talos.PCIDevice{gtx1080Ti}, both},
		"Pascal, proprietary, R570":           {"v1.12.4", proprietary, "production", []talos.PCIDevice{gtx1080Ti}, both},
		"Pascal, proprietary, R595":           {"v1.13.0", proprietary, "production", []talos.PCIDevice{gtx1080Ti}, nil},
		"Pascal beside Ampere, open":          {"v1.12.4", open, "lts", []talos.PCIDevice{gtx1080Ti, rtx3090}, both},
		"Blackwell, open":                     {"v1.12.4", open, "lts", []talos.PCIDevice{rtx5090}, both},
		"Blackwell, proprietary":              {"v1.12.4", proprietary, "lts", []talos.PCIDevice{rtx5090}, nil},
		"Blackwell, open, R535 of Talos 1.11": {"v1.11.2", open, "lts", []talos.PCIDevice{rtx5090}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, withDriver(test.version, test.modules, test.branch))
			hardware := l.hardware(101)
			hardware.PCI = test.devices
			require.NoError(t, l.fleet.PowerOn(t.Context(), hardware))
			l.waitStage(101, talos.StageMaintenance)

			c := l.cluster("k3s-dev")
			l.apply(101, c.config(machinetype.TypeControlPlane, loadingNVIDIA, kubernetesImages("v1.34.1"))) // which each of these releases supports
			l.waitStage(101, talos.StageRunning)
			c.waitAPI(101)

			modules, err := safe.StateListAll[*runtime.LoadedKernelModule](t.Context(), c.admin(101).COSI)
			require.NoError(t, err)

			var loaded []string
			for module := range modules.All() {
				loaded = append(loaded, module.Metadata().ID())
			}

			require.ElementsMatch(t, test.loaded, loaded)
		})
	}
}
