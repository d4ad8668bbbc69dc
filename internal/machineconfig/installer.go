package machineconfig

import "github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

// InstallerIn returns the installer image of the last strategic merge patch that sets one; empty if none does.
func InstallerIn(patches []string) (installer string, err error) {
	for _, patch := range patches {
		loaded, err := configpatcher.LoadPatch([]byte(patch))
		if err != nil {
			return "", err
		}
		merge, isMerge := loaded.(configpatcher.StrategicMergePatch)
		if !isMerge {
			continue // a configuration has several documents, to which no JSON patch applies
		}
		document := merge.Provider().RawV1Alpha1()
		if document == nil || document.MachineConfig == nil || document.MachineConfig.MachineInstall == nil {
			continue
		}
		if image := document.MachineConfig.MachineInstall.InstallImage; image != "" {
			installer = image
		}
	}
	return installer, nil
}
