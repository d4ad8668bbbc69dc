package components

import (
	"errors"
	"fmt"
	"slices"

	"github.com/em-infra/em-infra/internal/nvidia"
)

// NVIDIADriver is a build of NVIDIA's driver that Talos has as a system extension. Driver and container toolkit are a pair of
// the same branch: a toolkit of another branch waits forever for a matching driver (F38). The version of Talos determines the
// release of a branch: long-term is R580 from 1.12 on, production is R570 in 1.12 and R595 from 1.13 on (nvidia-gpu/vars.yaml
// of siderolabs/extensions).
type NVIDIADriver string

const (
	// NVIDIAOpen has the open kernel modules of the long-term branch, for Turing and later.
	NVIDIAOpen NVIDIADriver = "open"
	// NVIDIAOpenProduction has the open kernel modules of the production branch.
	NVIDIAOpenProduction NVIDIADriver = "open-production"
	// NVIDIAProprietary has the proprietary kernel modules of the long-term branch, for Maxwell to Hopper.
	NVIDIAProprietary NVIDIADriver = "proprietary"
	// NVIDIAProprietaryProduction has the proprietary kernel modules of the production branch, for Maxwell to Hopper up to
	// R580, for Turing to Hopper from then on.
	NVIDIAProprietaryProduction NVIDIADriver = "proprietary-production"
)

var nvidiaDrivers = map[NVIDIADriver]nvidia.Driver{
	NVIDIAOpen:                  {KernelModules: nvidia.Open, Branch: nvidia.LTS},
	NVIDIAOpenProduction:        {KernelModules: nvidia.Open, Branch: nvidia.Production},
	NVIDIAProprietary:           {KernelModules: nvidia.Proprietary, Branch: nvidia.LTS},
	NVIDIAProprietaryProduction: {KernelModules: nvidia.Proprietary, Branch: nvidia.Production},
}

// Extensions returns the driver's pair of extensions, by their names since Talos 1.8 (Makefile of siderolabs/extensions); nil
// for an unknown driver.
func (d NVIDIADriver) Extensions() []string { return nvidiaDrivers[d].Extensions() }

// recommendedDriver returns the default driver for the machine's GPUs, as far as their devices are described.
func (m Machine) recommendedDriver() NVIDIADriver {
	if nvidia.ModulesFor(m.generations()) == nvidia.Proprietary {
		return NVIDIAProprietary
	}
	return NVIDIAOpen
}

// generations returns the generation of each of the machine's GPUs; unknown for a GPU from an existing mapping.
func (m Machine) generations() []nvidia.Generation {
	generations := make([]nvidia.Generation, len(m.GPUs))
	for i, gpu := range m.GPUs {
		if gpu.Device != nil {
			generations[i] = nvidia.GenerationOf(gpu.Device.DeviceID)
		}
	}
	return generations
}

// validateDriver refuses a driver that does not support the GPUs, and half of another driver's pair in the image (F38).
func (args GpuWorkerArgs) validateDriver() error {
	if args.Node.Template == nil {
		return nil // reported elsewhere
	}
	m := args.Node.Machine
	driver := nvidiaDrivers[m.Driver]
	var problems []error
	for i, generation := range m.generations() {
		misfit := driver.Misfit(generation, driver.Branch.Release(args.Node.Template.image.version))
		problems = append(problems, require(misfit == "", "Node.Machine.Driver",
			fmt.Sprintf("%q does not support GPUs[%d] (%s): choose another driver or GPU", m.Driver, i, misfit)))
	}
	pair := driver.Extensions()
	for _, extension := range args.Node.Template.schematic.Extensions {
		problems = append(problems, require(slices.Contains(pair, extension) || !nvidia.IsExtension(extension), "Node.Template",
			fmt.Sprintf("its schematic has %s, which does not go with the driver %q: take it out, since GPU workers get theirs", extension, m.Driver)))
	}
	return errors.Join(problems...)
}
