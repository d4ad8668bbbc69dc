package nvidia

import (
	"fmt"
	"slices"
)

const (
	// lastBeforeTuring is the last release for Maxwell, Pascal and Volta: later ones report at boot that they are "supported
	// through the NVIDIA 580.xx Legacy drivers", and ignore them (NixOS/nixos-hardware#1880; NVIDIA's UNIX graphics feature
	// deprecation schedule).
	lastBeforeTuring = 580
	// firstWithBlackwell is the first release that lists a GPU of Blackwell (README.md of NVIDIA/open-gpu-kernel-modules: none in 565.77, six in
	// 570.124.06).
	firstWithBlackwell = 570
)

// Misfit returns why a driver of a release does not support a generation; it is empty if it does, or if the generation is
// unknown. A release of 0 is unknown and never a misfit. The facts are from NVIDIA's announcement of R560
// (developer.nvidia.com, "NVIDIA Transitions Fully Towards Open-Source GPU Kernel Modules", 2024-07-17) and from the releases
// above.
func (d Driver) Misfit(g Generation, release int) string {
	switch {
	case g == Unknown:
		return ""
	case g < Maxwell:
		return fmt.Sprintf("no driver that Talos has drives %s", g)
	case g < Turing && d.KernelModules == Open:
		return fmt.Sprintf("%s needs proprietary kernel modules, the open ones begin with Turing", g)
	case g < Turing && release > lastBeforeTuring:
		return fmt.Sprintf("R%d is the last driver for %s", lastBeforeTuring, g)
	case g >= Blackwell && d.KernelModules == Proprietary:
		return fmt.Sprintf("%s needs open kernel modules", g)
	case g >= Blackwell && release != 0 && release < firstWithBlackwell:
		return fmt.Sprintf("drivers for %s begin with R%d", g, firstWithBlackwell)
	default:
		return ""
	}
}

// firstOpenForAll is the first release whose open kernel modules support GeForce and workstation GPUs by default. Those of 535
// refuse to initialize them, "only ready for use on Data Center GPUs" (NVIDIA/open-gpu-kernel-modules 535.247.01,
// src/nvidia/arch/nvalloc/unix/src/osinit.c; 550.127.05 has no such check).
const firstOpenForAll = 545

// DataCenterOnly reports whether a driver of a release supports only GPUs for data centres. IDs do not show which GPUs those
// are.
func (d Driver) DataCenterOnly(release int) bool {
	return d.KernelModules == Open && release != 0 && release < firstOpenForAll
}

// Fitting returns the first of the recommended drivers that supports all these generations in a version of Talos.
func Fitting(generations []Generation, talos string) (driver Driver, there bool) {
	for _, d := range Drivers() {
		misfits := func(g Generation) bool { return d.Misfit(g, d.Branch.Release(talos)) != "" }
		if !slices.ContainsFunc(generations, misfits) {
			return d, true
		}
	}
	return Driver{}, false
}

// ModulesFor returns the kernel modules that support all these generations; open ones, which NVIDIA recommends, if both do or a
// generation is unknown. The Talos version is not considered, so that a default does not change with it.
func ModulesFor(generations []Generation) KernelModules {
	if slices.ContainsFunc(generations, func(g Generation) bool { return g >= Maxwell && g < Turing }) {
		return Proprietary
	}
	return Open
}

// Remedy returns what to write or do so that one driver supports all these generations in a version of Talos.
func Remedy(generations []Generation, talos string) string {
	if fitting, there := Fitting(generations, talos); there {
		return fmt.Sprintf("write driver: {kernelModuleType: %s, branch: %s}", fitting.KernelModules, fitting.Branch)
	}
	for _, generation := range generations {
		_, alone := Fitting([]Generation{generation}, talos)
		switch {
		case alone:
		case generation >= Blackwell:
			return "raise talos.version: v1.10 has R570 as production, v1.12 has R580 as lts"
		default:
			return "take another GPU, of Maxwell or later"
		}
	}
	return "no driver drives them all: give them to nodes of their own"
}
