package talos

import (
	"errors"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/hardware"
	"github.com/siderolabs/talos/pkg/machinery/resources/runtime"
)

// publishPCIDevices lists what is passed through, in the form of Talos (v1.12.0, controllers/hardware/pcidevices.go): the
// class of a device is the first byte of its number. Addresses in the guest are its own; those of the host stand for them.
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

// classOf takes a class such as 0x030000 apart.
func classOf(class string) (base, sub string) {
	const digits = len("0x030000")
	if len(class) != digits {
		return class, ""
	}

	return class[:4], "0x" + class[4:6]
}

// publishModules lists the kernel modules that the configuration loads and that the build and the hardware let load, as
// /proc/modules would (v1.12.0, controllers/runtime/loaded_kernel_module.go). Those of NVIDIA come with an extension, and
// the first of them refuses to load without a device.
func (s *system) publishModules(cfg config.Provider) error {
	var errs []error
	for _, module := range cfg.Machine().Kernel().Modules() {
		if strings.HasPrefix(module.Name(), "nvidia") && !s.drivesNVIDIA() {
			continue
		}
		errs = append(errs, put(s, runtime.NewLoadedKernelModule(runtime.NamespaceName, module.Name()), func(r *runtime.LoadedKernelModule) {
			r.TypedSpec().State = "Live"
		}))
	}

	return errors.Join(errs...)
}

// drivesNVIDIA says whether NVIDIA's driver is in the build and has something to drive.
func (s *system) drivesNVIDIA() bool {
	driver := slices.ContainsFunc(s.release.clone().Extensions, func(e Extension) bool {
		return strings.Contains(e.Name, "nvidia-open-gpu-kernel-modules") || strings.Contains(e.Name, "nonfree-kmod-nvidia")
	})

	return driver && slices.ContainsFunc(s.hardware.PCI, func(d PCIDevice) bool { return d.Vendor == "0x10de" && strings.HasPrefix(d.Class, "0x03") })
}
