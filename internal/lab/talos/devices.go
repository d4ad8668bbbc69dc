package talos

import (
	"errors"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// publishPCIDevices lists the passed-through devices in the format of Talos (v1.12.0, controllers/hardware/pcidevices.go):
// the class of a device is the first byte of its number. A real guest has its own addresses; here they are the host's.
func (s *system) publishPCIDevices() error {
	var errs []error
	for _, device := range s.hardware.PCI {
		errs = append(errs, put(s, hardware.NewPCIDeviceInfo(device.Address), func(r *hardware.PCIDevice) {
			r.TypedSpec().ClassID, r.TypedSpec().SubclassID = classOf(device.Class)
			r.TypedSpec().VendorID, r.TypedSpec().ProductID = device.Vendor, device.Device
		}))
	}

	return errors.Join(errs...)
}

// classOf splits a class such as 0x030000.
func classOf(class string) (base, sub string) {
	const digits = len("0x030000")
	if len(class) != digits {
		return class, ""
	}

	return class[:4], "0x" + class[4:6]
}

// publishModules lists, as /proc/modules does, the kernel modules of the configuration that the build and the hardware can
// load (v1.12.0, controllers/runtime/loaded_kernel_module.go). NVIDIA's modules come with an extension. The first of them, on
// which the others depend, fails with ENODEV if it has initialized no device (NVIDIA/open-gpu-kernel-modules 595.45.04,
// kernel-open/nvidia/nv.c, nvidia_init_module).
func (s *system) publishModules(cfg config.Provider) error {
	var errs []error
	for _, module := range cfg.Machine().Kernel().Modules() {
		if strings.HasPrefix(module.Name(), "nvidia") && len(s.hardware.DrivenBy(s.release.clone())) == 0 {
			continue
		}
		errs = append(errs, put(s, runtime.NewLoadedKernelModule(runtime.NamespaceName, module.Name()), func(r *runtime.LoadedKernelModule) {
			r.TypedSpec().State = "Live"
		}))
	}

	return errors.Join(errs...)
}
