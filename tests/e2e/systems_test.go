package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestE2ESystems is the life of a stack of systems, the sample: its image cannot be downloaded at first, then it is made, has nothing to do, is
// changed by hand and mended, changes as its preview says, and is gone.
func TestE2ESystems(t *testing.T) {
	t.Parallel()
	extended(t)
	r := newSystemsRehearsal(t, "e2e-systems")

	r.mustRun(0, "lab", "start")
	r.mustRun(0, "lab", "fault", "set", "download-fails")
	require.Contains(t, r.mustRun(1, "up", "--lab", "--yes"), "Proxmox:       download failed: command '/usr/bin/wget' failed")
	r.mustRun(0, "lab", "fault", "clear")
	output := r.mustRun(0, "up", "--lab", "--yes")
	require.Regexp(t, `(?m)^ provision +site-systems-tools-vm created `, output)
	require.Regexp(t, `(?m)^ provision +site-systems-pihole-ct created `, output)
	require.Equal(t, []string{"debian-13", "pihole", "tools"}, r.guests())
	require.Equal(t, "local-lvm:vm-211-disk-0,size=8G", r.guestSetting("lxc/211", "rootfs"))
	require.Equal(t, "local-lvm:vm-210-cloudinit,media=cdrom", r.guestSetting("qemu/210", "scsi30"), "a cloud kernel sees no drive on IDE")
	r.hasNothingToDo()

	r.systemsAreStopped()
	r.systemsDrift()
	r.systemsChange()

	r.mustRun(0, "destroy", "--lab", "--yes")
	require.Empty(t, r.guests())
	require.Equal(t, []string{"local:vztmpl/debian-13-5aec4ab2ac5c16c7.tar.zst"}, r.volumes("local"), "a template of containers may be used by others, and stays")
	require.Empty(t, r.volumes("local-lvm"))
}

// newSystemsRehearsal returns an empty rehearsal with the sample's inventory of systems.
func newSystemsRehearsal(t testing.TB, stack string) *rehearsal {
	t.Helper()
	r := newRehearsal(t, stack)
	for _, name := range []string{"cluster.yaml", "nodes.yaml"} {
		require.NoError(t, os.Remove(filepath.Join(r.inventory, name)))
	}
	r.writeInventory("systems.yaml", r.read(filepath.Join(r.root, "stacks", "site-systems", "systems.yaml")))
	return r
}

// systemsAreStopped stops both systems by hand: status reports that with `em-infra up` as the remedy, which starts them.
func (r *rehearsal) systemsAreStopped() {
	r.t.Helper()
	require.Regexp(r.t, `(?m)^pihole +vmhost +CT 211 running$`, r.mustRun(0, "status", "--lab"))
	for _, guest := range []string{"qemu/210", "lxc/211"} {
		require.NoError(r.t, r.api().Post(r.t.Context(), "/nodes/vmhost/"+guest+"/status/stop", nil, nil))
	}
	r.eventually("both are stopped", func() bool {
		return strings.Count(r.run("status", "--lab").output, "it is stopped: `em-infra up --stack e2e-systems") == 2
	})
	r.mustRun(1, "status", "--lab")
	r.mustRun(0, "up", "--lab", "--yes")
	r.mustRun(0, "status", "--lab")
}

// systemsDrift changes a machine and a container by hand, and deletes a template: drift shows all of it, and up puts back what the inventory
// says.
func (r *rehearsal) systemsDrift() {
	r.t.Helper()
	r.setMemory(210, 1024)
	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/lxc/211/config", map[string]any{"cores": 4, "onboot": 0, "delete": "features"}, nil))
	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/qemu/210/config", map[string]any{"onboot": 0}, nil))
	require.NoError(r.t, r.api().Delete(r.t.Context(), "/nodes/vmhost/qemu/9100", nil))
	r.eventually("the template is gone", func() bool { return len(r.guests()) == 2 })
	drift := r.mustRun(2, "drift", "--lab")
	require.Contains(r.t, drift, "template debian-13 (VM")
	require.Contains(r.t, drift, "onBoot", "which the provider does not read")
	require.Contains(r.t, drift, "features", "which it does not read of a container")
	require.Regexp(r.t, `pct set\s+211\s+--onboot\s+1`, drift, "which it does not change")
	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/lxc/211/config", map[string]any{"onboot": 1}, nil))
	require.Contains(r.t, drift, "site-systems-tools-vm")
	require.Contains(r.t, drift, "site-systems-pihole-ct")
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "2048", r.guestSetting("qemu/210", "memory"))
	require.Equal(r.t, "1", r.guestSetting("lxc/211", "cores"))
	require.Equal(r.t, "1", r.guestSetting("qemu/210", "onboot"))
	require.Equal(r.t, "nesting=1", r.guestSetting("lxc/211", "features"))
	require.Equal(r.t, "1", r.guestSetting("qemu/9100", "template"))
	r.mustRun(0, "drift", "--lab")
}

// systemsChange changes the inventory: the preview says what reboots, what is done in place, and refuses to lose a disk unasked.
func (r *rehearsal) systemsChange() {
	r.t.Helper()
	r.edit("systems.yaml", "memoryMiB: 2048", "memoryMiB: 4096")
	r.edit("systems.yaml", "    memoryMiB: 512\n", "    memoryMiB: 512\n    diskGiB: 12\n")
	preview := r.mustRun(2, "preview", "--lab")
	require.Regexp(r.t, `(?m)^ REBOOT   tools   memory 2048 → 4096 MiB$`, preview)
	require.Regexp(r.t, `(?m)^ CHANGE   pihole  disk 8 → 12 GiB$`, preview)
	r.mustRun(0, "up", "--lab", "--yes")
	require.Equal(r.t, "4096", r.guestSetting("qemu/210", "memory"))
	require.Equal(r.t, "local-lvm:vm-211-disk-0,size=12G", r.guestSetting("lxc/211", "rootfs"))

	r.nestingStays()

	r.edit("systems.yaml", "vmid: 211", "vmid: 212")
	seen := len(r.calls())
	refused := r.mustRun(3, "up", "--lab", "--yes")
	require.Regexp(r.t, `(?m)^ REPLACE  pihole  vmid 211 → 212; it is deleted and made again\n +what is on its disks is lost$`, refused)
	require.Contains(r.t, refused, "say --allow-replace pihole to go on, or set vmid back to 211 for pihole")
	require.Empty(r.t, writes(r.calls()[seen:]))
	r.edit("systems.yaml", "vmid: 212", "vmid: 211")
}

// nestingStays: the provider never switches nesting off. The preview reports that once, and drift shows the command until it is done.
func (r *rehearsal) nestingStays() {
	r.t.Helper()
	const command = `pct\s+set\s+211\s+--delete\s+features`
	r.edit("systems.yaml", "    vmid: 211\n", "    vmid: 211\n    nesting: false\n")
	require.Regexp(r.t, `(?s) CHANGE   pihole  nesting, which the provider does not switch off.*`+command, r.mustRun(2, "preview", "--lab"))
	r.mustRun(0, "up", "--lab", "--yes")
	r.hasNothingToDo()
	require.Regexp(r.t, command, r.mustRun(2, "drift", "--lab"))
	require.NoError(r.t, r.api().Put(r.t.Context(), "/nodes/vmhost/lxc/211/config", map[string]any{"delete": "features"}, nil))
	r.mustRun(0, "drift", "--lab")
	r.hasNothingToDo()
}

// guests returns the names of all guests of the host, templates included, sorted.
func (r *rehearsal) guests() []string {
	r.t.Helper()
	var all []struct{ Name string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/cluster/resources?type=vm", &all))
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Name
	}
	slices.Sort(names)
	return names
}

// guestSetting returns a setting of a guest as text.
func (r *rehearsal) guestSetting(guest, setting string) string {
	r.t.Helper()
	var settings map[string]any
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/"+guest+"/config", &settings))
	return fmt.Sprint(settings[setting])
}

// volumes returns the IDs of what is on a storage, sorted.
func (r *rehearsal) volumes(storage string) []string {
	r.t.Helper()
	var all []struct{ VolID string }
	require.NoError(r.t, r.api().Get(r.t.Context(), "/nodes/vmhost/storage/"+storage+"/content", &all))
	ids := make([]string, len(all))
	for i, one := range all {
		ids[i] = one.VolID
	}
	slices.Sort(ids)
	return ids
}
