package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// discVolume is the file that the ISO becomes on its host, discDrive is the drive with it.
const (
	discVolume = "local:iso/opnsense-abababababababab.iso"
	discDrive  = discVolume + ",media=cdrom,size="
)

// TestE2EAnApplianceFromAnISO is the life of a machine that is installed by hand: it boots its ISO, which is ejected in place, cannot move with
// it, boots its disk afterwards, is changed by hand and mended, and is lost only by name.
func TestE2EAnApplianceFromAnISO(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newSystemsRehearsal(t, "e2e-appliance")
	r.writeInventory("systems.yaml", `apiVersion: em-infra/v1alpha1
kind: Systems
name: site-systems
proxmox: {host: vmhost, diskStorage: local-lvm}
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH operator"]
isos:
  - {name: opnsense, url: "https://images.example/OPNsense-25.1-dvd-amd64.iso.bz2", checksum: "sha256:`+strings.Repeat("ab", 32)+`"}
  - {name: newer, url: "https://images.example/OPNsense-25.7-dvd-amd64.iso", checksum: "sha256:`+strings.Repeat("cd", 32)+`"}
virtualMachines:
  - {name: firewall, vmid: 220, iso: opnsense, ejected: false, networks: [{}, {vlan: 30}]}
  - {name: nas, vmid: 221, iso: opnsense, networks: [{}], dataDisks: [{sizeGiB: 16}]}
`)

	r.mustRun(0, "lab", "start")
	preview := r.mustRun(2, "preview", "--lab")
	require.Regexp(t, `(?m)^ CREATE +firewall +VM 220 on vmhost\n +it boots the ISO in its drive: install it on its console in Proxmox VE, then set ejected: true$`, preview)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(t, []string{"firewall", "nas"}, r.guests())
	require.Equal(t, []string{discVolume}, r.volumes("local"))
	require.Contains(t, r.guestSetting("qemu/220", "ide0"), discDrive)
	require.Equal(t, "order=scsi0;ide0", r.guestSetting("qemu/220", "boot"))
	require.Equal(t, "q35", r.guestSetting("qemu/220", "machine"))
	require.Regexp(t, `(?m)^firewall +vmhost +VM 220 running$`, r.mustRun(0, "status", "--lab"))
	require.NotContains(t, r.mustRun(0, "outputs", "systemAddresses", "--lab"), "firewall", "its address is set in its own installer")
	r.hasNothingToDo()

	r.discIsInTheWay()
	r.discIsEjected()
	r.applianceIsLostByName()
}

// discIsInTheWay: a machine with an ISO in its drive does not move, and another ISO is another disc in the drive of a machine that runs.
func (r *rehearsal) discIsInTheWay() {
	r.t.Helper()
	r.edit("systems.yaml", "{name: firewall,", "{name: firewall, host: other,")
	seen := len(r.calls())
	refused := r.mustRun(3, "preview", "--lab")
	require.Regexp(r.t, `(?m)^ CANNOT +firewall +`, refused)
	require.Contains(r.t, refused, "a machine does not move with an ISO in its drive, "+discVolume)
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.edit("systems.yaml", "{name: firewall, host: other,", "{name: firewall,")

	r.edit("systems.yaml", "vmid: 221, iso: opnsense", "vmid: 221, iso: newer")
	require.Regexp(r.t, `(?m)^ CHANGE +nas +CD-ROM `+discVolume+` → local:iso/newer-cdcdcdcdcdcdcdcd.iso$`, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	require.Contains(r.t, r.guestSetting("qemu/221", "ide0"), "local:iso/newer-cdcdcdcdcdcdcdcd.iso,")
	require.Contains(r.t, r.guestSetting("qemu/221", "scsi0"), "local-lvm:vm-221-disk-")
}

// discIsEjected in place: the machine does not reboot, and boots its disk when it does for another change. An ISO that was put back by hand is
// found.
func (r *rehearsal) discIsEjected() {
	r.t.Helper()
	uptime := r.uptime("220")
	r.edit("systems.yaml", "ejected: false", "ejected: true")
	preview := r.mustRun(2, "preview", "--lab")
	require.Regexp(r.t, `(?m)^ CHANGE +firewall +CD-ROM `+discVolume+` → none$`, preview)
	require.Contains(r.t, preview, discVolume+" is not needed any more, and stays on vmhost")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "none,media=cdrom", r.guestSetting("qemu/220", "ide0"))
	require.GreaterOrEqual(r.t, r.uptime("220"), uptime, "it was not rebooted")
	r.hasNothingToDo()

	r.edit("systems.yaml", "vmid: 220, iso: opnsense", "vmid: 220, iso: newer")
	r.mustRun(0, "preview", "--lab")
	r.edit("systems.yaml", "vmid: 220,", "vmid: 220, memoryMiB: 2048,")
	require.Regexp(r.t, `(?m)^ REBOOT +firewall +memory 1024 → 2048 MiB$`, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "2048", r.guestSetting("qemu/220", "memory"))
	require.Regexp(r.t, `(?m)^firewall +vmhost +VM 220 running$`, r.mustRun(0, "status", "--lab"))

	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/qemu/220/config", map[string]any{"ide0": discVolume + ",media=cdrom"}, nil))
	require.Contains(r.t, r.mustRun(2, "drift", "--lab"), discVolume)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "none,media=cdrom", r.guestSetting("qemu/220", "ide0"))
	r.mustRun(0, "drift", "--lab")
}

// applianceIsLostByName: what was installed on its disk is nowhere else. The ISOs stay, as templates of containers do.
func (r *rehearsal) applianceIsLostByName() {
	r.t.Helper()
	whole := r.read(filepath.Join(r.inventory, "systems.yaml"))
	at := strings.Index(whole, "  - {name: nas,")
	r.writeInventory("systems.yaml", whole[:at])
	require.Contains(r.t, r.mustRun(3, "up", "--lab", "--yes"), "say --allow-delete nas to go on, or put nas back into systems.yaml")
	r.mustRun(0, "up", "--lab", "--yes", "--allow-delete", "nas")
	require.Equal(r.t, []string{"firewall"}, r.guests())

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(r.t, r.guests())
	require.Empty(r.t, r.volumes("local-lvm"))
	require.Equal(r.t, []string{"local:iso/newer-cdcdcdcdcdcdcdcd.iso", discVolume}, r.volumes("local"), "a machine whose drive names a deleted ISO does not start again")
}

// uptime returns how long a machine has run.
func (r *rehearsal) uptime(vmid string) int {
	r.t.Helper()
	var current struct{ Uptime int }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/qemu/"+vmid+"/status/current", &current))
	return current.Uptime
}
