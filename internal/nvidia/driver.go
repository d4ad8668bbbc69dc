package nvidia

import (
	"fmt"
	"slices"
	"strings"
)

// KernelModules are the flavor of the driver's kernel modules.
type KernelModules string

// The flavors, by their names in NVIDIA's installer and gpu-operator (kernel-module-type).
const (
	// Open modules have an open licence; they need a GPU with a GSP, i.e. Turing or later.
	Open KernelModules = "open"
	// Proprietary modules are NVIDIA's original ones.
	Proprietary KernelModules = "proprietary"
)

// Branch is the branch of driver releases that an extension follows.
type Branch string

// The branches, as suffixes of the extensions' names.
const (
	LTS        Branch = "lts"
	Production Branch = "production"
)

// Driver is a build of NVIDIA's driver that Talos has as system extensions.
type Driver struct {
	KernelModules KernelModules
	Branch        Branch
}

// Drivers returns all drivers, in the order in which they are recommended.
func Drivers() []Driver {
	return []Driver{{Open, LTS}, {Proprietary, LTS}, {Open, Production}, {Proprietary, Production}}
}

const (
	owner             = "siderolabs/"
	openPackage       = "nvidia-open-gpu-kernel-modules"
	proprietaryModule = "nonfree-kmod-nvidia"
	toolkitPackage    = "nvidia-container-toolkit"
)

// Extensions returns the two extensions of a driver, sorted: the kernel modules, and the container toolkit with the libraries
// of the same release (Makefile of siderolabs/extensions, v1.8.0 to v1.14.0-rc.1); nil for an unknown driver.
func (d Driver) Extensions() []string {
	if !slices.Contains(Drivers(), d) {
		return nil
	}
	modules := openPackage
	if d.KernelModules == Proprietary {
		modules = proprietaryModule
	}
	pair := []string{owner + modules + "-" + string(d.Branch), owner + toolkitPackage + "-" + string(d.Branch)}
	slices.Sort(pair)
	return pair
}

// In returns the driver in words, with its release in a version of Talos if that is known.
func (d Driver) In(talos string) string {
	words := string(d.KernelModules) + ", " + string(d.Branch)
	if release := d.Branch.Release(talos); release != 0 {
		words += fmt.Sprintf(", which is R%d in Talos %s", release, talos)
	}
	return words
}

// IsExtension reports whether an extension is part of a driver.
func IsExtension(name string) bool {
	_, isModules := kernelModulesIn(name)
	return isModules || isToolkit(name)
}

// Installed returns the driver in a list of extensions: kernel modules and the toolkit of their branch. A toolkit of another
// branch waits forever for a matching driver (F38). Names may include their owner, as in schematics, or not, as in Talos.
func Installed(extensions []string) (driver Driver, whole bool) {
	for _, name := range extensions {
		modules, isModules := kernelModulesIn(name)
		if !isModules {
			continue
		}
		driver = Driver{modules, branchOf(name)}
		whole = slices.ContainsFunc(extensions, func(other string) bool { return isToolkit(other) && branchOf(other) == driver.Branch })
	}
	return driver, whole
}

func kernelModulesIn(name string) (modules KernelModules, isModules bool) {
	switch {
	case isPackage(name, openPackage):
		return Open, true
	case isPackage(name, proprietaryModule):
		return Proprietary, true
	default:
		return "", false
	}
}

func isToolkit(name string) bool { return isPackage(name, toolkitPackage) }

// isPackage reports whether a name is the package is, with or without its branch: before Talos 1.8 the names had none.
func isPackage(name, is string) bool {
	branch, found := strings.CutPrefix(strings.TrimPrefix(name, owner), is)
	return found && (branch == "" || branch == "-"+string(LTS) || branch == "-"+string(Production))
}

// branchOf returns the branch of an extension. A name without one means lts (image-factory, internal/profile/profile.go,
// extensionNameAlias).
func branchOf(name string) Branch {
	if strings.HasSuffix(name, "-"+string(Production)) {
		return Production
	}
	return LTS
}
