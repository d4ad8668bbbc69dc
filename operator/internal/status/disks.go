package status

import (
	"fmt"
	"io"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// diskProblems returns the problems of a node's disks, each with a remedy: Talos is on another drive than the firmware boots, or
// volumes are not ready. It returns nil for a node that was not asked.
func (m Machine) diskProblems() []string {
	if m.Node == nil || m.Node.InstalledOn == "" {
		return nil
	}
	var problems []string
	if m.Node.InstalledOn != hardware.SystemDrive {
		problems = append(problems, fmt.Sprintf("Talos is installed on %s, and the firmware boots %s: make the machine anew before it is switched off, since its ISO would start and halt", m.Node.InstalledOn, hardware.SystemDrive))
	}
	for _, volume := range m.Node.Volumes {
		if !volume.Ready() && !slices.Contains(m.DataDisks, volume.Name) {
			problems = append(problems, unready(volume, "look at `talosctl get volumestatuses`"))
		}
	}
	for i, name := range m.DataDisks {
		problems = append(problems, m.dataDiskProblems(name, hardware.SCSIDrive(hardware.DataDisk(i)))...)
	}
	return problems
}

// dataDiskProblems compares the volume of a data disk with its expected drive.
func (m Machine) dataDiskProblems(name, drive string) []string {
	i := slices.IndexFunc(m.Node.Volumes, func(v nodeops.Volume) bool { return v.Name == name })
	switch {
	case i < 0:
		return []string{fmt.Sprintf("Talos knows no volume %s: run up, which applies the configuration that asks for it", name)}
	case !m.Node.Volumes[i].Ready():
		return []string{unready(m.Node.Volumes[i], fmt.Sprintf("see in Proxmox VE that the machine has %s and that nothing else is on it, and in `talosctl get disks` what Talos finds", drive))}
	case m.Node.Volumes[i].Drive != drive:
		return []string{fmt.Sprintf("volume %s lies on %s, its data disk is %s: put dataDisks in the order in which they were made", name, m.Node.Volumes[i].Drive, drive)}
	default:
		return nil
	}
}

func unready(v nodeops.Volume, remedy string) string {
	if v.Reason == "" {
		return fmt.Sprintf("volume %s is %s: %s", v.Name, v.Phase, remedy)
	}
	return fmt.Sprintf("volume %s is %s (%s): %s", v.Name, v.Phase, v.Reason, remedy)
}

// printGrowth prints the disks whose new space needs a reboot.
func (m Machine) printGrowth(out io.Writer) {
	if m.Node == nil {
		return
	}
	for _, volume := range m.Node.Volumes {
		if volume.UnusedBytes > 0 {
			fmt.Fprintf(out, "grown disk    %s of %s: %s has %d GiB more from the node's next boot on: `em-infra reboot %s`\n",
				volume.Drive, m.Name, place(volume.Name), volume.UnusedBytes>>30, m.Name)
		}
	}
}

// place returns the mount point of a volume.
func place(volume string) string {
	if volume == constants.EphemeralPartitionLabel {
		return constants.EphemeralMountPoint
	}
	return constants.UserVolumeMountPoint + "/" + volume
}
